// Every refusal that an engine built on the SDK answers a judge with, and of its command line.
#pragma once

#include "base/refusal.h"

namespace assay::worker {

inline constexpr RefusalInfo kCommand{
    "WORKER-COMMAND", "The command line is not that of a runtime worker.",
    "Start it as: PROGRAM runtime-worker --weights PATH [--speculative-protocol v1.1]."};
inline constexpr RefusalInfo kIo{
    "WORKER-IO", "The engine's channel to the judge failed.",
    "See how the judge ended; the engine stops when it can no longer read or write."};
inline constexpr RefusalInfo kRequestMalformed{
    "WORKER-REQUEST-MALFORMED", "The line is not a request of the engine protocol.",
    "Correct the sender: one JSON object a line with the keys of docs/protocol.md."};
inline constexpr RefusalInfo kKindUnknown{
    "WORKER-KIND-UNKNOWN", "The request's kind is none of the ten verbs.",
    "Use a verb of docs/protocol.md; they are case-sensitive."};
inline constexpr RefusalInfo kFieldMissing{"WORKER-FIELD-MISSING",
                                           "A key that the verb needs is not there, or is empty.",
                                           "Send the key that the detail names."};
inline constexpr RefusalInfo kFieldStray{
    "WORKER-FIELD-STRAY", "A request carries a key that does not belong to its verb.",
    "Leave the key out: nothing that is sent may be ignored silently."};
inline constexpr RefusalInfo kPhaseAlreadyOpen{
    "WORKER-PHASE-ALREADY-OPEN", "A phase was opened while another one is open.",
    "Close the open phase with phase_diagnostics first."};
inline constexpr RefusalInfo kPhaseNotOpen{
    "WORKER-PHASE-NOT-OPEN", "The request needs an open phase of its kind.",
    "Send the opener first; after a refusal no phase is open."};
inline constexpr RefusalInfo kDrainResidual{
    "WORKER-DRAIN-RESIDUAL", "Cached buffers were still held after the drain that opens a phase.",
    "Correct the engine's drain: it gives every free buffer back."};
inline constexpr RefusalInfo kNeedsV11{
    "WORKER-NEEDS-V1-1", "The request belongs to v1.1, and this worker was started as plain v1.",
    "Start the worker with --speculative-protocol v1.1."};
inline constexpr RefusalInfo kCapabilityAbsent{
    "WORKER-CAPABILITY-ABSENT", "The request needs a capability that the hello does not advertise.",
    "Send only what the hello's capabilities allow."};
inline constexpr RefusalInfo kModeNotRunnable{
    "WORKER-MODE-NOT-RUNNABLE", "The spec's mode cannot run here.",
    "Ask for a mode of the hello's spec_modes; decode_begin runs serial only."};
inline constexpr RefusalInfo kSpecMalformed{
    "WORKER-SPEC-MALFORMED", "The spec holds a block or a key that is not its mode's.",
    "Send the mode and at most the block of that name."};
inline constexpr RefusalInfo kDepthOutOfRange{
    "WORKER-DEPTH-OUT-OF-RANGE", "The draft depth asked for is outside what the engine can run.",
    "Ask for a depth inside the range that the detail names; it is never clamped."};
inline constexpr RefusalInfo kCountOutOfRange{
    "WORKER-COUNT-OUT-OF-RANGE", "A token count is zero, negative, or above the engine's bound.",
    "Ask for a count inside the range that the detail names."};
inline constexpr RefusalInfo kTokenOutOfVocabulary{
    "WORKER-TOKEN-OUT-OF-VOCABULARY", "A token id is not in the model's vocabulary.",
    "Check that judge and engine use the same model."};
inline constexpr RefusalInfo kLogitNotFinite{
    "WORKER-LOGIT-NOT-FINITE", "The model computed a logit that is not a finite number.",
    "Correct the engine; no answer is made from such logits."};
inline constexpr RefusalInfo kEngineInconsistent{
    "WORKER-ENGINE-INCONSISTENT", "The engine's own result contradicts the engine protocol.",
    "Correct the engine: the detail says what its function returned and what was due."};
inline constexpr RefusalInfo kMockFault{"WORKER-MOCK-FAULT",
                                        "A mock engine failed because it was told to.",
                                        "Nothing to do: a test asked for it."};

inline constexpr const RefusalInfo* kWorkerRefusals[] = {&kCommand,          &kIo,
                                                         &kRequestMalformed, &kKindUnknown,
                                                         &kFieldMissing,     &kFieldStray,
                                                         &kPhaseAlreadyOpen, &kPhaseNotOpen,
                                                         &kDrainResidual,    &kNeedsV11,
                                                         &kCapabilityAbsent, &kModeNotRunnable,
                                                         &kSpecMalformed,    &kDepthOutOfRange,
                                                         &kCountOutOfRange,  &kTokenOutOfVocabulary,
                                                         &kLogitNotFinite,   &kEngineInconsistent,
                                                         &kMockFault};

}  // namespace assay::worker
