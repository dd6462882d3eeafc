// Every refusal of the comparison programs.
#pragma once

#include "base/refusal.h"

namespace assay::bench {

inline constexpr RefusalInfo kPeerUnreadable{
    "BENCH-PEER-UNREADABLE", "The peer's library could not be opened, or lacks a function we call.",
    "Let bench/run fetch the pinned package, or give its folder with --peer."};
inline constexpr RefusalInfo kPeerLayout{
    "BENCH-PEER-LAYOUT", "The peer's parameter structs are not those of the pinned build.",
    "Use the pinned build; another one needs its own declarations."};
inline constexpr RefusalInfo kPeerFailed{"BENCH-PEER-FAILED", "A call into the peer failed.",
                                         "Check the model file and free memory."};
inline constexpr RefusalInfo kPeerWrong{"BENCH-PEER-WRONG",
                                        "The peer's answers are wrong, so its speed means nothing.",
                                        "Use another build of the peer on this machine."};
inline constexpr RefusalInfo kOursWrong{
    "BENCH-OURS-WRONG", "Our answers do not agree with the peer's.",
    "Find the error first; a speed measured on wrong answers means nothing."};
inline constexpr RefusalInfo kTextTooShort{"BENCH-TEXT-TOO-SHORT",
                                           "The text holds too few tokens for the measurement.",
                                           "Give a longer text with --text."};

inline constexpr const RefusalInfo* kBenchRefusals[] = {
    &kPeerUnreadable, &kPeerLayout, &kPeerFailed, &kPeerWrong, &kOursWrong, &kTextTooShort};

}  // namespace assay::bench
