// Every refusal of runner: an engine process, its session, the windows and the gates. What the wire
// itself can get wrong is named in protocol/refusals.h, pure arithmetic in scoring/refusals.h.
#pragma once

#include "base/refusal.h"

namespace assay::runner {

// --- starting and ending a process
inline constexpr RefusalInfo kEngineArgumentRefused{
    "ENGINE-ARGUMENT-REFUSED", "An engine would get an argument that no engine may get.",
    "Give only --resource NAME=PATH, --mtp-head PATH, --dflash-head PATH."};
inline constexpr RefusalInfo kEngineEnvironmentRefused{
    "ENGINE-ENVIRONMENT-REFUSED",
    "An engine would get an environment variable that may not be set for it.",
    "Remove the variable; only the names on the runner's override list can be set."};
inline constexpr RefusalInfo kEngineNotExecutable{
    "ENGINE-NOT-EXECUTABLE", "The engine is missing, or it is not an executable file.",
    "Check the path given as --engine and its permissions."};
inline constexpr RefusalInfo kProcessNotStarted{
    "PROCESS-NOT-STARTED", "The operating system refused to start a process.",
    "Look at the system's reason in the message: limits, memory, permissions."};
inline constexpr RefusalInfo kProcessTimeout{
    "PROCESS-TIMEOUT", "A helper program did not end within its time.",
    "Run the named program by hand and see what it waits for."};
inline constexpr RefusalInfo kRunInterrupted{
    "RUN-INTERRUPTED", "The run was stopped by a signal; the engine was ended first.",
    "Start the run again; pairs that were complete are sealed, without a score."};

// --- the session
inline constexpr RefusalInfo kIo{"IO", "Reading from or writing to the engine failed.",
                                 "Look at the system's reason and at the engine's last words."};
inline constexpr RefusalInfo kSessionDiscarded{
    "SESSION_DISCARDED", "A session was used after a fault had ended it.",
    "Look at the fault that came first; a new session is needed."};
inline constexpr RefusalInfo kCompletedWorkMismatch{
    "COMPLETED_WORK_MISMATCH",
    "The engine's count of forwards in a phase is not the number of requests it got.",
    "Correct the engine's counter: one for each timed step, zero again at each opener."};
inline constexpr RefusalInfo kAllocatorCacheNotDrained{
    "ALLOCATOR_CACHE_NOT_DRAINED", "The engine kept allocator cache at the end of a phase.",
    "Release cached buffers in phase_diagnostics before reporting cache_memory."};
inline constexpr RefusalInfo kTokenMismatch{
    "TOKEN_MISMATCH", "The engine produced another token than the golden has.",
    "Check weights, tokenizer and numerics against the track's golden."};
inline constexpr RefusalInfo kUnsolicitedLine{
    "UNSOLICITED_LINE", "The engine had written output before it was asked.",
    "Correct the engine: one response to each request, written after the request."};

// --- waiting
inline constexpr RefusalInfo kHelloTimeout{
    "HELLO_TIMEOUT", "The engine did not send its hello in time.",
    "Check that the engine loads; a large model may need a larger load budget."};
inline constexpr RefusalInfo kRunTimeout{
    "RUN_TIMEOUT", "The engine did not answer within the time of its window.",
    "Look for a hang in the engine; the budget is many times the expected duration."};

// --- windows and legs
inline constexpr RefusalInfo kWindowInputInvalid{
    "WINDOW-INPUT-INVALID", "A timed window was asked for with nothing to time.",
    "Check prompt, seed, step count and oracle of the golden and the contract."};
inline constexpr RefusalInfo kFrontLoadedDecode{
    "FRONT-LOADED-DECODE",
    "The seed prefill took much longer than the timed prefill of a prompt of the same length, and "
    "the decode run less than that surplus.",
    "Do no decode work before free_decode_run; on a noisy machine, run again when it is quiet."};
inline constexpr RefusalInfo kDeferredPrefill{
    "DEFERRED-PREFILL",
    "The seed prefill took much longer than the timed prefill of a prompt of the same length.",
    "Do the whole forward in prefill; on a noisy machine, run again when it is quiet."};
inline constexpr RefusalInfo kResidentIdentityChanged{
    "resident_identity_changed_within_window",
    "Two sessions of one window reported different resident processes.",
    "Keep one resident for the whole window; see why it was started again."};

inline constexpr RefusalInfo kConformanceCaseTooShort{
    "CONFORMANCE-CASE-TOO-SHORT", "A golden's case has fewer expected tokens than steps to check.",
    "Record the golden with more steps, or check fewer."};

// --- gates
inline constexpr RefusalInfo kQuiescenceTimeout{
    "QUIESCENCE-TIMEOUT", "The machine did not become quiet before a measurement.",
    "Stop other work on the machine, or run locally with --no-cool-gate."};
inline constexpr RefusalInfo kGateRejected{
    "GATE_REJECTED", "The machine is too hot for a measurement and does not cool down.",
    "Improve the cooling, wait, or check the limit for this machine."};
inline constexpr RefusalInfo kTemperatureReaderMissing{
    "TEMPERATURE-READER-MISSING", "official mode requires a GPU temperature reader",
    "Install nvidia-smi, or set MLXFAST_GPU_TEMP_CMD to a command that prints the temperature."};

inline constexpr const RefusalInfo* kRunnerRefusals[] = {
    &kEngineArgumentRefused,
    &kEngineEnvironmentRefused,
    &kEngineNotExecutable,
    &kProcessNotStarted,
    &kProcessTimeout,
    &kRunInterrupted,
    &kIo,
    &kSessionDiscarded,
    &kCompletedWorkMismatch,
    &kAllocatorCacheNotDrained,
    &kTokenMismatch,
    &kUnsolicitedLine,
    &kHelloTimeout,
    &kRunTimeout,
    &kWindowInputInvalid,
    &kFrontLoadedDecode,
    &kDeferredPrefill,
    &kResidentIdentityChanged,
    &kConformanceCaseTooShort,
    &kQuiescenceTimeout,
    &kGateRejected,
    &kTemperatureReaderMissing,
};

}  // namespace assay::runner
