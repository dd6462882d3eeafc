// Every refusal of benchd: the inputs of a run, its reference, its seal on disk, what is not
// offered.
#pragma once

#include "base/refusal.h"

namespace assay::benchd {

// --- what is not there yet
inline constexpr RefusalInfo kVerbNotOffered{"VERB-NOT-OFFERED",
                                             "The verb is known, but this version does not run it.",
                                             "Run `benchd --help` for the verbs that it runs."};
inline constexpr RefusalInfo kOfficialSandboxMissing{
    "OFFICIAL-SANDBOX-MISSING",
    "An official run would have to confine the candidate, and this version has no sandbox.",
    "Use a local mode; or give --unsandboxed, which is sealed as `none (linux)`."};
inline constexpr RefusalInfo kOfficialStoredPairNotOffered{
    "OFFICIAL-STORED-PAIR-NOT-OFFERED",
    "The track scores an official run against a stored pair, which this version does not do.",
    "Use a track with `scores_against_live_control_leg: true`."};
inline constexpr RefusalInfo kCaptureNotOffered{
    "CAPTURE-NOT-OFFERED", "Capturing a stored baseline is known, but not offered here.",
    "Use a track with a live control leg and `benchd calibrate-baseline`."};
inline constexpr RefusalInfo kCaptureRetiredForLiveControlLeg{
    "CAPTURE-RETIRED-FOR-LIVE-CONTROL-LEG",
    "The track scores against a live control leg, so no baseline is captured for it.",
    "Use `benchd calibrate-baseline`."};
inline constexpr RefusalInfo kGatesOnlyNotOffered{
    "GATES-ONLY-NOT-OFFERED",
    "MLXFAST_BENCHMARK_SKIP_TIMED=1 asks for a run without timing, which is not offered here.",
    "Unset the variable, or use `benchd correctness`."};

// --- inputs of a run
inline constexpr RefusalInfo kGoldenPinIncomplete{
    "GOLDEN-PIN-INCOMPLETE", "A golden's pin needs both its digest and its size.",
    "Give --X-sha256 and --X-bytes, once for each file, or neither."};
inline constexpr RefusalInfo kDraftDepthNotPermitted{
    "DRAFT-DEPTH-NOT-PERMITTED", "The draft depth is not one that may be used here.",
    "Choose a depth that the message names; leave --mtp-depth out for a serial run."};
inline constexpr RefusalInfo kCandidateSpecInvalid{
    "CANDIDATE-SPEC-INVALID", "The text of --candidate-spec is not a speculation request.",
    "Give an object like {\"mode\":\"mtp\",\"mtp\":{\"depth\":3}}."};
inline constexpr RefusalInfo kWeightsMissing{
    "WEIGHTS-MISSING", "The weights are not there, or the folder holds no file.",
    "Check the path given as --weights."};
inline constexpr RefusalInfo kWeightsNotRegular{
    "WEIGHTS-NOT-REGULAR", "The weights hold a symbolic link or a special file.",
    "Give a folder of regular files: what is measured must be what was digested."};
inline constexpr RefusalInfo kWeightsChanged{
    "WEIGHTS-CHANGED", "The weights were not the same after the run as before it.",
    "See what writes to the weights, then run again."};
inline constexpr RefusalInfo kHarnessUnreadable{
    "HARNESS-UNREADABLE", "A file of the harness roster could not be read, so it has no digest.",
    "Make the file readable, or remove it."};

// --- which path a run takes
inline constexpr RefusalInfo kControlGoldenWithoutPairedPath{
    "CONTROL-GOLDEN-WITHOUT-PAIRED-PATH",
    "A control golden was given, but this run has no control leg.",
    "Leave --control-golden out, or give --baseline-workspace and --baseline-calibration."};
inline constexpr RefusalInfo kMultipleGoldensWithoutPairedPath{
    "MULTIPLE-GOLDENS-WITHOUT-PAIRED-PATH",
    "Several goldens were given, but this run has no pairs.",
    "Give one --golden, or --baseline-workspace and --baseline-calibration."};
inline constexpr RefusalInfo kStoredBaselineOverrideRefused{
    "STORED-BASELINE-OVERRIDE-REFUSED",
    "A stored baseline was given for a run that measures its own control leg.",
    "Leave out --baseline-prefill-spt, --baseline-decode-spt and the MLXFAST_PAIRED_BASELINE_ "
    "names."};

// --- the reference of a paired run
inline constexpr RefusalInfo kBaselineWorkspaceMissing{
    "BASELINE-WORKSPACE-MISSING", "The reference workspace is not given, or is not a folder.",
    "Give its folder with --baseline-workspace."};
inline constexpr RefusalInfo kBaselineWorkspaceNoEngine{
    "BASELINE-WORKSPACE-NO-ENGINE", "The reference workspace has no executable engine at the path.",
    "Build the reference there, at the same relative path as the candidate."};
inline constexpr RefusalInfo kBaselineWorkspaceNoWeights{
    "BASELINE-WORKSPACE-NO-WEIGHTS", "The reference workspace has no weights at the path.",
    "Put the weights there, at the same relative path as the candidate's."};
inline constexpr RefusalInfo kBaselineEngineNotRootRelative{
    "BASELINE-ENGINE-NOT-ROOT-RELATIVE",
    "The engine's path cannot be followed inside the reference workspace.",
    "Give --engine as a path below the working folder, without `..` or links that leave the tree."};
inline constexpr RefusalInfo kBaselineWeightsNotRootRelative{
    "BASELINE-WEIGHTS-NOT-ROOT-RELATIVE",
    "The weights' path cannot be followed inside the reference workspace.",
    "Give --weights as a path without `..` or links that leave the tree."};
inline constexpr RefusalInfo kBaselineCalibrationMissing{
    "BASELINE-CALIBRATION-MISSING", "The calibration file is not given, or cannot be read.",
    "Make it with `benchd calibrate-baseline` and give it with --baseline-calibration."};
inline constexpr RefusalInfo kBaselineBoxUnresolved{"BASELINE-BOX-UNRESOLVED",
                                                    "The name of this box is not known.",
                                                    "Give it with --box, or in RUNNER_NAME."};
inline constexpr RefusalInfo kSerialControlLegFailed{
    "SERIAL-CONTROL-LEG-FAILED", "The reference did not finish its leg as it must.",
    "Read the cause in the message; check the reference workspace and the serial golden."};
inline constexpr RefusalInfo kLegServeScriptMissing{
    "LEG-SERVE-SCRIPT-MISSING", "A leg's workspace has no executable serve script.",
    "Put the script there, executable; only a cpu track works without one."};
inline constexpr RefusalInfo kLegServeBootFailed{
    "LEG-SERVE-BOOT-FAILED", "A leg's serve script did not bring up its resident.",
    "Run the script by hand; the message has its last words."};
inline constexpr RefusalInfo kLegServeInheritedSocket{
    "LEG-SERVE-INHERITED-SOCKET", "The environment names a resident socket before the run began.",
    "Unset DS4_RESIDENT_SOCKET and BENCH_WORKER_RESIDENT_SOCKET."};
inline constexpr RefusalInfo kCalibrationCommitUnresolved{
    "CALIBRATION-COMMIT-UNRESOLVED", "A commit of the calibration is not 40 lower-case hex digits.",
    "Give --reference-commit and --benchd-source-commit in full."};

// --- recording a golden
inline constexpr RefusalInfo kRecordPromptInvalid{
    "RECORD-PROMPT-INVALID", "A file of prompt tokens cannot be used.",
    "Give ids as a JSON array, or separated by white space or commas, as many as `seed_tokens`."};
inline constexpr RefusalInfo kRecordDisagreement{
    "RECORD-DISAGREEMENT", "The engine gave two answers to one question, so nothing is recorded.",
    "Make the engine deterministic: prefill, free run and teacher-forced steps must agree."};

// --- catalogue
inline constexpr RefusalInfo kRefusalUnknown{"REFUSAL-UNKNOWN", "There is no refusal of this name.",
                                             "Run `benchd explain` without a name for the list."};

inline constexpr const RefusalInfo* kBenchdRefusals[] = {
    &kVerbNotOffered,
    &kOfficialSandboxMissing,
    &kOfficialStoredPairNotOffered,
    &kCaptureNotOffered,
    &kCaptureRetiredForLiveControlLeg,
    &kGatesOnlyNotOffered,
    &kGoldenPinIncomplete,
    &kDraftDepthNotPermitted,
    &kCandidateSpecInvalid,
    &kWeightsMissing,
    &kWeightsNotRegular,
    &kWeightsChanged,
    &kHarnessUnreadable,
    &kControlGoldenWithoutPairedPath,
    &kMultipleGoldensWithoutPairedPath,
    &kStoredBaselineOverrideRefused,
    &kBaselineWorkspaceMissing,
    &kBaselineWorkspaceNoEngine,
    &kBaselineWorkspaceNoWeights,
    &kBaselineEngineNotRootRelative,
    &kBaselineWeightsNotRootRelative,
    &kBaselineCalibrationMissing,
    &kBaselineBoxUnresolved,
    &kSerialControlLegFailed,
    &kLegServeScriptMissing,
    &kLegServeBootFailed,
    &kLegServeInheritedSocket,
    &kCalibrationCommitUnresolved,
    &kRecordPromptInvalid,
    &kRecordDisagreement,
    &kRefusalUnknown,
};

}  // namespace assay::benchd
