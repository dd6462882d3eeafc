// Every refusal of protocol. The names are the wire's own classes; the judge's session, above this
// library, uses these and adds only its own.
#pragma once

#include "base/refusal.h"

namespace assay::protocol {

inline constexpr RefusalInfo kJson{
    "JSON", "A line of the engine protocol is not a legal message.",
    "Correct the program that wrote the line: the detail names the key or the byte."};
inline constexpr RefusalInfo kLineTooLong{
    "LINE_TOO_LONG", "A line of the engine protocol is longer than 4194304 bytes.",
    "Find what the other program wrote there; a legal message is far shorter."};
inline constexpr RefusalInfo kProtocol{
    "PROTOCOL", "The engine broke the order or the required content of the engine protocol.",
    "Correct the engine; docs/protocol.md says what it must answer."};
inline constexpr RefusalInfo kNonceMismatch{
    "NONCE_MISMATCH", "A response carries another session's nonce, or none.",
    "Correct the engine: it repeats the nonce of its hello on every response."};
inline constexpr RefusalInfo kEngine{"ENGINE", "The engine refused a request or failed at it.",
                                     "Read the engine's own text in the detail."};
inline constexpr RefusalInfo kCapabilityNotAdvertised{
    "CAPABILITY_NOT_ADVERTISED",
    "The run needs a capability that the engine's hello does not list.",
    "Use an engine that advertises it, or ask for another kind of run."};
inline constexpr RefusalInfo kSpecMalformed{
    "SPEC_MALFORMED", "A spec names no known mode, or holds a block that is not its mode's.",
    "Give a mode of serial, mtp, dflash, dspark and at most the block of that name."};
inline constexpr RefusalInfo kSpecModeNotRunnable{
    "SPEC_MODE_NOT_RUNNABLE", "The engine's hello does not list the spec mode that was asked for.",
    "Ask for a listed mode, or start the engine with the drafter that the mode needs."};
inline constexpr RefusalInfo kSpecEchoDivergence{
    "SPEC_ECHO_DIVERGENCE", "The engine reports another spec than the one it was given.",
    "Correct the engine: a spec is honoured exactly or refused."};
inline constexpr RefusalInfo kBatchEchoDivergence{
    "BATCH_ECHO_DIVERGENCE", "The engine reports another batch width than the one it was given.",
    "Correct the engine: a width is honoured exactly or refused."};
inline constexpr RefusalInfo kBatchWidthExceedsEngineMax{
    "BATCH_WIDTH_EXCEEDS_ENGINE_MAX",
    "The batch width asked for is above the maximum that the engine's hello states.",
    "Ask for a smaller width, or use an engine that can run it."};

inline constexpr RefusalInfo kRunnerManifestInvalid{
    "RUNNER-MANIFEST-INVALID", "A runner manifest declares something that no runner can be.",
    "Correct the key that the message names; docs/protocol.md lists what each may say."};

inline constexpr const RefusalInfo* kProtocolRefusals[] = {&kJson,
                                                           &kLineTooLong,
                                                           &kProtocol,
                                                           &kNonceMismatch,
                                                           &kEngine,
                                                           &kCapabilityNotAdvertised,
                                                           &kSpecMalformed,
                                                           &kSpecModeNotRunnable,
                                                           &kSpecEchoDivergence,
                                                           &kBatchEchoDivergence,
                                                           &kBatchWidthExceedsEngineMax,
                                                           &kRunnerManifestInvalid};

}  // namespace assay::protocol
