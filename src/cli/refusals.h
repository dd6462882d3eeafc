// Every refusal of the command line.
#pragma once

#include "base/refusal.h"

namespace assay::cli {

inline constexpr RefusalInfo kUsageUnknownCommand{
    "USAGE-UNKNOWN-COMMAND", "The program has no such subcommand.",
    "Run the program with --help for the list of subcommands."};
inline constexpr RefusalInfo kUsageUnknownFlag{"USAGE-UNKNOWN-FLAG",
                                               "The subcommand has no such flag or argument.",
                                               "Run the subcommand with --help for its flags."};
inline constexpr RefusalInfo kUsageMissingValue{"USAGE-MISSING-VALUE",
                                                "A flag that takes a value stands without one.",
                                                "Write the value after the flag."};
inline constexpr RefusalInfo kUsageMissingFlag{"USAGE-MISSING-FLAG",
                                               "A required flag or argument is not there.",
                                               "Add the flag that the message names."};
inline constexpr RefusalInfo kUsageInvalidValue{"USAGE-INVALID-VALUE",
                                                "The value of a flag is not of its kind or range.",
                                                "Give a value as the message describes."};
inline constexpr RefusalInfo kUsageConflict{
    "USAGE-CONFLICT", "Two flags that exclude each other were given.", "Keep one of the two."};
inline constexpr RefusalInfo kUsageRefusedFlag{
    "USAGE-REFUSED-FLAG", "The flag is known but is not accepted here (renamed or removed).",
    "Follow the sentence in the message."};
inline constexpr RefusalInfo kOutputClosed{"OUTPUT-CLOSED",
                                           "Results could not be written to standard output.",
                                           "Check the disk or the program that reads the output."};

inline constexpr const RefusalInfo* kCliRefusals[] = {
    &kUsageUnknownCommand, &kUsageUnknownFlag, &kUsageMissingValue, &kUsageMissingFlag,
    &kUsageInvalidValue,   &kUsageConflict,    &kUsageRefusedFlag,  &kOutputClosed};

}  // namespace assay::cli
