// Every refusal of the record: reading other tools' files, envelopes, publishing.
#pragma once

#include "base/refusal.h"

namespace assay::publish {

inline constexpr RefusalInfo kConvertInput{
    "CONVERT-INPUT", "A result file cannot be read as the kind it is said to be.",
    "Check that the file is whole and that --kind names the tool that wrote it."};
inline constexpr RefusalInfo kConvertKindUnknown{
    "CONVERT-KIND-UNKNOWN", "No known tool's output was recognised in the file, or more than one.",
    "Name the tool with --kind."};
inline constexpr RefusalInfo kConvertModelUnknown{
    "CONVERT-MODEL-UNKNOWN", "The file does not say which model was measured.",
    "Give --model, or allow it with --allow-unknown-model."};
inline constexpr RefusalInfo kConvertTimestampUnknown{
    "CONVERT-TIMESTAMP-UNKNOWN", "The start of the run is not known.",
    "Give --timestamp, or --tz when the file states a local time."};
inline constexpr RefusalInfo kConvertTagClash{
    "CONVERT-TAG-CLASH",
    "A tag given on the command line has the key of a tag that the file gives.",
    "Choose another key."};
inline constexpr RefusalInfo kEnvelopeInvalid{"ENVELOPE-INVALID",
                                              "An envelope breaks its schema or a semantic rule.",
                                              "Correct each problem that is listed with its path."};

inline constexpr const RefusalInfo* kPublishRefusals[] = {
    &kConvertInput,    &kConvertKindUnknown, &kConvertModelUnknown, &kConvertTimestampUnknown,
    &kConvertTagClash, &kEnvelopeInvalid};

}  // namespace assay::publish
