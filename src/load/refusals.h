// Every refusal of the measuring client.
#pragma once

#include "base/refusal.h"

namespace assay::load {

// Reaching the endpoint.
inline constexpr RefusalInfo kUrl{
    "LOAD-URL", "The base URL is not one that can be measured.",
    "Give http://HOST[:PORT]/PATH of the server itself, for example http://127.0.0.1:8080/v1."};
inline constexpr RefusalInfo kConnect{
    "LOAD-CONNECT", "No connection to the endpoint.",
    "Check that the server runs, and its host and port in --base-url."};
inline constexpr RefusalInfo kTimeout{
    "LOAD-TIMEOUT", "The endpoint did not answer in the time allowed.",
    "Look at the server's log; raise --timeout only when the work really takes that long."};
inline constexpr RefusalInfo kClosed{"LOAD-CLOSED",
                                     "The connection ended before the answer was whole.",
                                     "Look at the server's log: it died or gave up the request."};
inline constexpr RefusalInfo kHttpMalformed{"LOAD-HTTP-MALFORMED",
                                            "The answer is no HTTP/1.1 message.",
                                            "Check that the port belongs to the HTTP server."};
inline constexpr RefusalInfo kReplyTooLarge{
    "LOAD-REPLY-TOO-LARGE", "An answer, or one event of it, is larger than any answer may be.",
    "Check what the endpoint sends; a chat completion of this size is a fault."};
inline constexpr RefusalInfo kStopped{"LOAD-STOPPED", "The measurement was asked to stop.",
                                      "Start it again; the file says how far it came."};

// What the endpoint answered.
inline constexpr RefusalInfo kStatus{"LOAD-STATUS", "The endpoint answered with an error status.",
                                     "Read the status and the message that the server gave."};
inline constexpr RefusalInfo kStreamError{
    "LOAD-STREAM-ERROR", "The endpoint reported an error inside the stream.",
    "Read the server's message; the run is a failure whatever came before it."};
inline constexpr RefusalInfo kStreamTruncated{
    "LOAD-STREAM-TRUNCATED", "The stream ended without a finish reason and without [DONE].",
    "Look at the server's log: the answer was cut off."};
inline constexpr RefusalInfo kStreamMalformed{
    "LOAD-STREAM-MALFORMED", "An event of the stream is no chat completion chunk.",
    "Check that the endpoint speaks the OpenAI chat completions API."};
inline constexpr RefusalInfo kNotStreamed{
    "LOAD-NOT-STREAMED", "The endpoint answered in one piece although a stream was asked for.",
    "Measure an endpoint that streams: without it the time to the first token is unknown."};

// What the probe found.
inline constexpr RefusalInfo kModelNotServed{"LOAD-MODEL-NOT-SERVED",
                                             "The endpoint does not list the model.",
                                             "Name one of the models that the message lists."};
inline constexpr RefusalInfo kModelAmbiguous{
    "LOAD-MODEL-AMBIGUOUS", "No model was named and the endpoint does not serve exactly one.",
    "Name the model with --model."};
inline constexpr RefusalInfo kModelMismatch{
    "LOAD-MODEL-MISMATCH", "An answer names another model than the one asked for.",
    "Measure the server itself, not a proxy that swaps models; or name the model as it does."};
inline constexpr RefusalInfo kPreflight{
    "LOAD-PREFLIGHT", "The endpoint lists the model but does not answer a request to it.",
    "Load the model; read the server's message."};
inline constexpr RefusalInfo kCalibration{
    "LOAD-CALIBRATION", "The prompt could not be brought to the length asked for.",
    "Ask for a longer prompt, or check how the server counts prompt tokens."};
inline constexpr RefusalInfo kPromptCount{
    "LOAD-PROMPT-COUNT", "The server counts other prompt tokens than the run was planned with.",
    "Repetitions are only comparable with equal prompts; check the chat template and truncation."};
inline constexpr RefusalInfo kAdmission{
    "LOAD-ADMISSION", "Prompt and output reservation together exceed the configured window.",
    "Measure a shorter prompt, reserve less output, or serve a larger window."};
inline constexpr RefusalInfo kCachedTokens{
    "LOAD-CACHED-TOKENS",
    "The server took prompt tokens from its cache in a run that must be cold.",
    "Turn prompt caching off for the measurement, or state --prefix-policy shared_prefix."};
inline constexpr RefusalInfo kNoUsage{
    "LOAD-NO-USAGE", "The server reports no token counts.",
    "Turn usage reporting on; --allow-chunk-counts takes chunks for tokens and says so."};
inline constexpr RefusalInfo kImpossible{
    "LOAD-IMPOSSIBLE-CLAIM", "The server claims about its answer what cannot be.",
    "Look at how the server counts and what it was started with; figures made from such counts "
    "would be false."};
inline constexpr RefusalInfo kNoTokens{"LOAD-NO-TOKENS", "A run produced no token.",
                                       "Check the model, its chat template and --max-tokens."};
inline constexpr RefusalInfo kTooManyRequests{
    "LOAD-TOO-MANY-REQUESTS", "The server refused requests because too many were in flight (429).",
    "Measure with the concurrency that the server serves; nothing of this run is scored."};
inline constexpr RefusalInfo kErrorRate{
    "LOAD-ERROR-RATE", "More requests were answered with an error status than is allowed.",
    "Look at the statuses and the server's log; --max-error-rate allows a share of them."};
inline constexpr RefusalInfo kRetriesExhausted{
    "LOAD-RETRIES-EXHAUSTED", "The endpoint stayed unavailable through all retries.",
    "Look at the server's log; start again when it answers."};
inline constexpr RefusalInfo kRunsFailed{
    "LOAD-RUNS-FAILED", "Fewer runs ended well than were planned.",
    "Look at the errors in the file; a partial result is not published as a result."};
inline constexpr RefusalInfo kPeakBelowMean{
    "LOAD-PEAK-BELOW-MEAN", "A peak rate lies below the mean rate, so the two count differently.",
    "The figure is not reported; report the stream that caused it."};

inline constexpr RefusalInfo kOutExists{
    "LOAD-OUT-EXISTS", "The file to write is there already; a measurement is never overwritten.",
    "Choose another --out, or add --force where the old measurement is not needed."};
inline constexpr RefusalInfo kWidth{"LOAD-WIDTH", "The system gives too few threads for the batch.",
                                    "Ask for a smaller --width, or raise the limit on processes."};

// Campaigns.
inline constexpr RefusalInfo kCampaignManifest{
    "CAMPAIGN-MANIFEST", "A value of the campaign's manifest cannot be meant.",
    "Correct the key that the message names; docs/campaign.md lists them all."};
inline constexpr RefusalInfo kCampaignVariableUnset{
    "CAMPAIGN-VARIABLE-UNSET", "A text of the manifest names a variable that has no value.",
    "Set it in the environment, or write ${NAME:-text} with what stands in for it."};
inline constexpr RefusalInfo kCampaignRunning{
    "CAMPAIGN-ALREADY-RUNNING", "Another process works on this campaign's folder.",
    "Wait for it, or end it; two runs at once would measure each other."};
inline constexpr RefusalInfo kCampaignInterrupted{
    "CAMPAIGN-INTERRUPTED", "The campaign was asked to stop by a signal.",
    "Run the same command again: finished cells are kept, the rest is measured."};
inline constexpr RefusalInfo kServerNotStarted{
    "CAMPAIGN-SERVER-NOT-STARTED", "The cell's server could not be started.",
    "Run the manifest's server command by hand; check its path and permissions."};
inline constexpr RefusalInfo kServerDied{
    "CAMPAIGN-SERVER-DIED", "The cell's server ended while it was needed.",
    "Read server.log in the cell's folder; run again when the cause is gone."};
inline constexpr RefusalInfo kServerNotReady{
    "CAMPAIGN-SERVER-NOT-READY", "The cell's server did not become ready in the time allowed.",
    "Read server.log in the cell's folder; raise server.ready_timeout_seconds if it is only slow."};
inline constexpr RefusalInfo kPortTaken{
    "CAMPAIGN-PORT-TAKEN", "Something else listens where the cell's server should.",
    "End it, or let the campaign choose with ${port}: a foreign server must not be measured."};
inline constexpr RefusalInfo kNotAdmitted{
    "CAMPAIGN-NOT-ADMITTED", "Target and output reservation together exceed the window.",
    "Nothing to do: such a cell does not exist for this profile."};
inline constexpr RefusalInfo kDeclaredOutcome{"CAMPAIGN-DECLARED-OUTCOME",
                                              "The manifest declares what becomes of this cell.",
                                              "Remove the profile's outcome to measure the cell."};
inline constexpr RefusalInfo kCapacity{
    "CAMPAIGN-CAPACITY", "Weights and caches of the cell would not fit the memory safely.",
    "Measure a smaller cell, or a machine with more memory; an estimate gates, it does not prove."};
inline constexpr RefusalInfo kSwapInUse{
    "CAMPAIGN-SWAP-IN-USE", "The machine swaps, so its memory is not the model's alone.",
    "Free memory and swap, or raise guards.swap_bytes_max knowing what that means."};
inline constexpr RefusalInfo kSwapGrowth{
    "CAMPAIGN-SWAP-GROWTH", "The machine began to swap during the cell.",
    "Measure a smaller cell or free memory; such a run is no capacity verdict either."};
inline constexpr RefusalInfo kWeightMismatch{
    "CAMPAIGN-WEIGHT-MISMATCH", "The process that answered holds other weights than asked for.",
    "Read the message: a proxy, another server, or another file stands behind the port."};
inline constexpr RefusalInfo kNoToolParser{
    "CAMPAIGN-NO-TOOL-PARSER", "The server refuses requests that offer tools.",
    "Start the server with a tool parser, or leave assertions.tool_call out."};
inline constexpr RefusalInfo kRecordRefused{
    "CAMPAIGN-RECORD-REFUSED", "The publisher does not accept the cell's file.",
    "Read its messages in the cell's diagnostics; nothing of this cell can be published."};
inline constexpr RefusalInfo kVerdictInput{
    "VERDICT-NO-RUNS", "No measured cells were found to judge.",
    "Name folders of campaigns that hold finished cells (throughput.json)."};

inline constexpr const RefusalInfo* kLoadRefusals[] = {&kUrl,
                                                       &kConnect,
                                                       &kTimeout,
                                                       &kClosed,
                                                       &kHttpMalformed,
                                                       &kReplyTooLarge,
                                                       &kStopped,
                                                       &kStatus,
                                                       &kStreamError,
                                                       &kStreamTruncated,
                                                       &kStreamMalformed,
                                                       &kNotStreamed,
                                                       &kModelNotServed,
                                                       &kModelAmbiguous,
                                                       &kModelMismatch,
                                                       &kPreflight,
                                                       &kCalibration,
                                                       &kPromptCount,
                                                       &kAdmission,
                                                       &kCachedTokens,
                                                       &kNoUsage,
                                                       &kImpossible,
                                                       &kNoTokens,
                                                       &kTooManyRequests,
                                                       &kErrorRate,
                                                       &kRetriesExhausted,
                                                       &kRunsFailed,
                                                       &kPeakBelowMean,
                                                       &kOutExists,
                                                       &kWidth,
                                                       &kCampaignManifest,
                                                       &kCampaignVariableUnset,
                                                       &kCampaignRunning,
                                                       &kCampaignInterrupted,
                                                       &kServerNotStarted,
                                                       &kServerDied,
                                                       &kServerNotReady,
                                                       &kPortTaken,
                                                       &kNotAdmitted,
                                                       &kDeclaredOutcome,
                                                       &kCapacity,
                                                       &kSwapInUse,
                                                       &kSwapGrowth,
                                                       &kWeightMismatch,
                                                       &kNoToolParser,
                                                       &kRecordRefused,
                                                       &kVerdictInput};

}  // namespace assay::load
