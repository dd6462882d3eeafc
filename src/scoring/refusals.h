// Every refusal of scoring: contract, golden, tape, audit, gains, calibration, digests, seal.
#pragma once

#include "base/refusal.h"

namespace assay::scoring {

// --- contract: parse and certification
inline constexpr RefusalInfo kContractFieldMissing{
    "CONTRACT-FIELD-MISSING",
    "A contract declares a part of a group of keys that only counts as a whole.",
    "Add the key that the message names, or remove the other keys of its group."};
inline constexpr RefusalInfo kContractValueInvalid{
    "CONTRACT-VALUE-INVALID", "A contract declares a value that no run could use.",
    "Give the key that the message names a value inside the range that it states."};
inline constexpr RefusalInfo kContractFieldsExclusive{
    "CONTRACT-FIELDS-EXCLUSIVE", "A contract declares two designs that exclude each other.",
    "Keep one of the two keys that the message names."};
inline constexpr RefusalInfo kContractPairCombineUnknown{
    "CONTRACT-PAIR-COMBINE-UNKNOWN", "official_pair_combine names no rule that is known.",
    "Use lower_median, mean or ratio_of_sums, or leave the key out for lower_median."};
inline constexpr RefusalInfo kContractPairOrderUnknown{
    "CONTRACT-PAIR-ORDER-UNKNOWN", "official_pair_order names no order that is known.",
    "Use control_first or counterbalanced, or leave the key out for control_first."};
inline constexpr RefusalInfo kContractAllowedModesEmpty{
    "CONTRACT-ALLOWED-MODES-EMPTY", "allowed_modes is an empty list, so no run would be allowed.",
    "List at least one mode, or leave the key out for serial and mtp."};
inline constexpr RefusalInfo kContractTargetInvalid{
    "CONTRACT-TARGET-INVALID", "The contract's target does not name one fixed reference model.",
    "Give target.upstream_model_id and target.upstream_revision (40 lower-case hex digits), or "
    "remove target."};
inline constexpr RefusalInfo kContractHiddenGoldenInvalid{
    "CONTRACT-HIDDEN-GOLDEN-INVALID",
    "The contract's hidden_correctness_golden does not pin one file.",
    "Give sha256 (64 lower-case hex digits) and bytes (at least 1), or remove the key."};
inline constexpr RefusalInfo kContractFeatureNotSupported{
    "CONTRACT-FEATURE-NOT-SUPPORTED",
    "The contract declares a feature that this version cannot run.",
    "Use a version that runs the key that the message names, or a contract without it."};

// --- contract: resolvers
inline constexpr RefusalInfo kScoredRegimePending{
    "SCORED-REGIME-PENDING-DECLARATION", "The contract does not declare its scored regime.",
    "Declare scored_batch_size, prefill_gain_exponent and decode_gain_exponent."};
inline constexpr RefusalInfo kOfficialBaselinePending{
    "OFFICIAL-BASELINE-PENDING-CAPTURE", "The contract does not declare its stored baseline pair.",
    "Capture a baseline and declare official_baseline_prefill_seconds_per_token and "
    "official_baseline_decode_seconds_per_token."};
inline constexpr RefusalInfo kAcceptanceBandsUndeclared{
    "ACCEPTANCE-BANDS-UNDECLARED-FOR-TRACK", "The contract does not declare its acceptance bands.",
    "Declare the four band tolerances and the two band_down_enabled keys."};
inline constexpr RefusalInfo kWindowShapeUndeclared{
    "WINDOW-SHAPE-UNDECLARED-FOR-TRACK", "The contract does not declare its window shape.",
    "Declare correctness_steps, benchmark_decode_steps, local_submit_benchmark_decode_steps and "
    "official_prefill_warmup_runs."};
inline constexpr RefusalInfo kModelIdentityUndeclared{
    "MODEL-IDENTITY-UNDECLARED-FOR-TRACK", "The contract does not declare its model shape.",
    "Declare vocab_size, num_hidden_layers, seed_tokens and golden_model_type."};
inline constexpr RefusalInfo kContractKeyUndeclared{
    "CONTRACT-KEY-UNDECLARED", "The contract does not declare a key that this run needs.",
    "Declare the key that the message names."};
inline constexpr RefusalInfo kPairedFlowRetired{
    "PAIRED-FLOW-RETIRED-FOR-TRACK", "The track has retired the pool-based paired flow.",
    "Score this track with `benchd iterate --mode official`."};
inline constexpr RefusalInfo kOfficialScoringDisarmed{
    "OFFICIAL-SCORING-DISARMED", "The contract says that official scoring is off.",
    "Run a local mode, or arm the track with official_scoring_enabled: true."};
inline constexpr RefusalInfo kOfficialScoringNoArmState{
    "OFFICIAL-SCORING-NO-ARM-STATE",
    "The contract does not say whether official scoring is on or off.",
    "Declare official_scoring_enabled; until then run a local mode."};
inline constexpr RefusalInfo kTrackPlatformUnknown{"TRACK-PLATFORM-UNKNOWN",
                                                   "The track id does not name a known platform.",
                                                   "End the id with -mlx-vN, -cuda-vN or -cpu-vN."};
inline constexpr RefusalInfo kTrackIdMismatch{
    "TRACK-ID-MISMATCH", "Two sources name different tracks for one run.",
    "Give the track of the contract, or the contract of the track."};
inline constexpr RefusalInfo kTrackIdUnresolved{
    "TRACK-ID-UNRESOLVED", "Nothing names the track of this run.",
    "Give --track, or declare track_id in the contract."};

// --- golden
inline constexpr RefusalInfo kGoldenPinBytesMismatch{
    "GOLDEN-PIN-BYTES-MISMATCH", "A golden has another size than its pin says.",
    "Fetch the pinned file again, or correct the pin."};
inline constexpr RefusalInfo kGoldenPinDigestMismatch{
    "GOLDEN-PIN-DIGEST-MISMATCH", "A golden has another SHA-256 than its pin says.",
    "Fetch the pinned file again, or correct the pin."};
inline constexpr RefusalInfo kGoldenRequirementsInvalid{
    "GOLDEN-REQUIREMENTS-INVALID", "A golden was to be loaded with zero steps or a zero prompt.",
    "Check the window and model shape of the contract."};
inline constexpr RefusalInfo kGoldenVersion{"GOLDEN-VERSION", "A golden's version is not 1.",
                                            "Record the golden again with this version."};
inline constexpr RefusalInfo kGoldenModelType{
    "GOLDEN-MODEL-TYPE", "A golden's model_type is not the one that is required.",
    "Use the golden of this track, or correct golden_model_type in the contract."};
inline constexpr RefusalInfo kGoldenProvenanceInvalid{
    "GOLDEN-PROVENANCE-INVALID", "A golden's model_provenance names no fixed model.",
    "Give a repository and a revision of 40 lower-case hex digits."};
inline constexpr RefusalInfo kGoldenProvenanceMismatch{
    "GOLDEN-PROVENANCE-MISMATCH",
    "A golden was recorded from another model than the contract pins.",
    "Record the golden from the pinned model, or correct the contract's target."};
inline constexpr RefusalInfo kGoldenCaseInvalid{
    "GOLDEN-CASE-INVALID", "A base case of a golden has another shape than the run needs.",
    "Record the golden with this track's contract."};
inline constexpr RefusalInfo kGoldenGateInvalid{
    "GOLDEN-GATE-INVALID", "A correctness gate of a golden breaks a rule of its kind.",
    "Correct the key that the message names."};
inline constexpr RefusalInfo kGoldenNameInvalid{
    "GOLDEN-NAME-INVALID", "A case name is blank, padded, or holds a control character.",
    "Give the case a plain name."};
inline constexpr RefusalInfo kGoldenNameDuplicate{
    "GOLDEN-NAME-DUPLICATE", "Two cases of a golden have one name.", "Rename one of the two."};
inline constexpr RefusalInfo kGoldenTokenOutOfRange{
    "GOLDEN-TOKEN-OUT-OF-RANGE", "A golden holds a token outside the vocabulary.",
    "Check that golden and contract belong to one model."};
inline constexpr RefusalInfo kGoldenBenchmarkInvalid{
    "GOLDEN-BENCHMARK-INVALID", "The benchmark block of a golden breaks a rule.",
    "Correct the key that the message names."};
inline constexpr RefusalInfo kGoldenBenchmarkMissing{
    "GOLDEN-BENCHMARK-MISSING", "A golden has no benchmark block, which a timed run needs.",
    "Record it with --benchmark-free-run, or check it with --gates-only."};
inline constexpr RefusalInfo kGoldenOracleTooShort{
    "GOLDEN-ORACLE-TOO-SHORT", "A golden holds fewer expected tokens than the timed run decodes.",
    "Record a longer golden, or run a mode with fewer decode steps."};
inline constexpr RefusalInfo kGoldenCarriesStoredBaseline{
    "GOLDEN-CARRIES-STORED-BASELINE",
    "A golden carries a stored baseline on a track that measures its control leg.",
    "Remove the two baseline keys from the golden's benchmark."};
inline constexpr RefusalInfo kHiddenGoldenNotAttested{
    "HIDDEN-GOLDEN-NOT-ATTESTED", "The contract pins a hidden golden, but the run attested none.",
    "Run with the hidden golden of this track."};
inline constexpr RefusalInfo kHiddenGoldenNotPinned{
    "HIDDEN-GOLDEN-NOT-PINNED", "The run attested a hidden golden, but the contract pins none.",
    "Pin it in hidden_correctness_golden, or run without it."};
inline constexpr RefusalInfo kHiddenGoldenWrongDigest{
    "HIDDEN-GOLDEN-WRONG-DIGEST", "The attested hidden golden is not the one that is pinned.",
    "Fetch the pinned file again."};
inline constexpr RefusalInfo kGoldenCountMismatch{
    "GOLDEN-COUNT-MISMATCH", "Flags that belong to each golden were given another number of times.",
    "Give the flag once for each --golden, in the same order."};
inline constexpr RefusalInfo kOfficialPairsNotAMultiple{
    "OFFICIAL-PAIRS-NOT-A-MULTIPLE-OF-GOLDENS",
    "The pairs of a run cannot be shared out evenly over its goldens.",
    "Give a number of goldens that divides official_pairs."};
inline constexpr RefusalInfo kControlGoldenPromptMismatch{
    "CONTROL-GOLDEN-PROMPT-MISMATCH", "A control golden is for another prompt than its golden.",
    "Give the serial tape of the same prompt."};

// --- tape
inline constexpr RefusalInfo kOracleUnrecognised{
    "ORACLE-UNRECOGNISED", "A document is neither a golden nor a timed-prompt tape.",
    "Check that it is the file you meant."};
inline constexpr RefusalInfo kTapeEmpty{
    "TAPE-EMPTY", "A timed-prompt tape has no seed tokens or no rows.", "Record the tape again."};
inline constexpr RefusalInfo kTapeNotSelfConsistent{
    "TAPE-NOT-SELF-CONSISTENT", "A tape says of itself that the reference was not consistent.",
    "Record the tape again on a healthy machine."};
inline constexpr RefusalInfo kTapeTokenOutOfRange{
    "TAPE-TOKEN-OUT-OF-RANGE", "A tape holds a token outside the vocabulary.",
    "Check that tape and contract belong to one model."};
inline constexpr RefusalInfo kTapeEmittedMismatch{
    "TAPE-EMITTED-MISMATCH", "A tape's emitted tokens are not its chain of choices.",
    "Record the tape again."};

// --- free run and deadlines
inline constexpr RefusalInfo kFreeRunConsistency{
    "FREE_RUN_CONSISTENCY", "The engine's account of a free run contradicts itself.",
    "Correct the counters; the message names the rule that failed."};
inline constexpr RefusalInfo kRunTimeoutBudgetInvalid{
    "RUN_TIMEOUT_BUDGET_INVALID", "No deadline can be computed, so the window is not run.",
    "Check the token count, the calibrated mean and the band: all must be positive and finite."};

// --- score
inline constexpr RefusalInfo kScoreWindowNotPositive{
    "SCORE-WINDOW-NOT-POSITIVE", "A timed window has no positive duration.",
    "Look at the clock and the engine: work of zero time cannot be scored."};
inline constexpr RefusalInfo kScoreNoCommittedTokens{
    "SCORE-NO-COMMITTED-TOKENS", "A timed window has no tokens to divide by.",
    "Check the prompt length and the number of decode steps."};
inline constexpr RefusalInfo kScoreNoPairs{
    "SCORE-NO-PAIRS", "There is no measured pair to combine.",
    "Measure at least one pair; official_pairs must be at least 1."};
inline constexpr RefusalInfo kScoreDocumentInvalid{
    "SCORE-DOCUMENT-INVALID", "A score document has a value that its key does not allow.",
    "Use the file as the judge wrote it."};
inline constexpr RefusalInfo kGateRecordInvalid{
    "GATE-RECORD-INVALID", "A gate record has a value that its key does not allow.",
    "Use the file as the judge wrote it."};

// --- calibration
inline constexpr RefusalInfo kCalibrationInvalid{
    "BASELINE-CALIBRATION-INVALID", "A calibration file breaks a rule of its format.",
    "Run `benchd calibrate-baseline` on this box again."};
inline constexpr RefusalInfo kCalibrationWholeWindow{
    "BASELINE-CALIBRATION-WHOLE-WINDOW-DECODE",
    "A calibration file of version 2 or older timed the seed prefill within the decode window.",
    "Run `benchd calibrate-baseline` again: its figures cannot be compared with a decode window."};
inline constexpr RefusalInfo kCalibrationTrackMismatch{
    "BASELINE-CALIBRATION-TRACK-MISMATCH", "A calibration file was made for another track.",
    "Give the calibration of this track, or make one."};
inline constexpr RefusalInfo kCalibrationBoxMismatch{
    "BASELINE-CALIBRATION-BOX-MISMATCH", "A calibration file was made on another box.",
    "Make a calibration on this box, or correct the box name."};
inline constexpr RefusalInfo kCalibrationPromptMismatch{
    "BASELINE-CALIBRATION-PROMPT-MISMATCH", "A calibration file has no entry for this prompt.",
    "Calibrate with all goldens of the run."};
inline constexpr RefusalInfo kCalibrationCvExceeded{
    "CALIBRATION-CV-EXCEEDED", "The calibration passes differ more than the contract allows.",
    "Make the box quiet and calibrate again; the limit is the contract's calibration_cv_max."};
inline constexpr RefusalInfo kControlLegOutsideBand{
    "SERIAL-CONTROL-LEG-OUTSIDE-BAND",
    "The control leg was slower than this box's calibration allows.",
    "Look for load or heat on the box; calibrate again when the box has changed."};

// --- digests
inline constexpr RefusalInfo kWeightsDigestTextInvalid{
    "WEIGHTS-DIGEST-TEXT-INVALID", "A weights digest is not written as sha256:bytes:files.",
    "Use the line that `benchd weights-digest` prints."};
inline constexpr RefusalInfo kWeightsShardNameInvalid{
    "WEIGHTS-SHARD-NAME-INVALID", "A weights file is named as a shard that cannot exist.",
    "Check the two numbers in the file name: 1 to the count."};

// --- seal
inline constexpr RefusalInfo kIntegrityInvalid{
    "INTEGRITY-INVALID", "An integrity document has a value that its key does not allow.",
    "Use the file as the judge wrote it."};
inline constexpr RefusalInfo kSealSidecar{
    "SEAL-SIDECAR", "A sidecar is not exactly one digest line for the file beside it.",
    "Copy the files again, all four, under the names they were written with."};
inline constexpr RefusalInfo kSealDigest{"SEAL-DIGEST",
                                         "A sealed file has another SHA-256 than its seal says.",
                                         "The file was changed after sealing: do not trust it."};
inline constexpr RefusalInfo kSealForm{
    "SEAL-FORM", "A sealed file is not in the form in which the judge writes it.",
    "The file was not written by the judge, or by another version: do not trust it."};
inline constexpr RefusalInfo kSealCross{
    "SEAL-CROSS", "Two sealed files disagree about one fact.",
    "The files belong to different runs, or one was changed: do not trust them."};
inline constexpr RefusalInfo kSealArithmetic{
    "SEAL-ARITHMETIC", "A sealed figure does not follow from the sealed legs.",
    "The score was not computed by the rule that it names: do not trust it."};
inline constexpr RefusalInfo kSealContract{
    "SEAL-CONTRACT", "The score was not made under the contract that was given.",
    "Give the contract whose SHA-256 the score carries."};

inline constexpr const RefusalInfo* kScoringRefusals[] = {
    &kContractFieldMissing,
    &kContractValueInvalid,
    &kContractFieldsExclusive,
    &kContractPairCombineUnknown,
    &kContractPairOrderUnknown,
    &kContractAllowedModesEmpty,
    &kContractTargetInvalid,
    &kContractHiddenGoldenInvalid,
    &kContractFeatureNotSupported,
    &kScoredRegimePending,
    &kOfficialBaselinePending,
    &kAcceptanceBandsUndeclared,
    &kWindowShapeUndeclared,
    &kModelIdentityUndeclared,
    &kContractKeyUndeclared,
    &kPairedFlowRetired,
    &kOfficialScoringDisarmed,
    &kOfficialScoringNoArmState,
    &kTrackPlatformUnknown,
    &kTrackIdMismatch,
    &kTrackIdUnresolved,
    &kGoldenPinBytesMismatch,
    &kGoldenPinDigestMismatch,
    &kGoldenRequirementsInvalid,
    &kGoldenVersion,
    &kGoldenModelType,
    &kGoldenProvenanceInvalid,
    &kGoldenProvenanceMismatch,
    &kGoldenCaseInvalid,
    &kGoldenGateInvalid,
    &kGoldenNameInvalid,
    &kGoldenNameDuplicate,
    &kGoldenTokenOutOfRange,
    &kGoldenBenchmarkInvalid,
    &kGoldenBenchmarkMissing,
    &kGoldenOracleTooShort,
    &kGoldenCarriesStoredBaseline,
    &kHiddenGoldenNotAttested,
    &kHiddenGoldenNotPinned,
    &kHiddenGoldenWrongDigest,
    &kGoldenCountMismatch,
    &kOfficialPairsNotAMultiple,
    &kControlGoldenPromptMismatch,
    &kOracleUnrecognised,
    &kTapeEmpty,
    &kTapeNotSelfConsistent,
    &kTapeTokenOutOfRange,
    &kTapeEmittedMismatch,
    &kFreeRunConsistency,
    &kRunTimeoutBudgetInvalid,
    &kScoreWindowNotPositive,
    &kScoreNoCommittedTokens,
    &kScoreNoPairs,
    &kScoreDocumentInvalid,
    &kGateRecordInvalid,
    &kCalibrationInvalid,
    &kCalibrationWholeWindow,
    &kCalibrationTrackMismatch,
    &kCalibrationBoxMismatch,
    &kCalibrationPromptMismatch,
    &kCalibrationCvExceeded,
    &kControlLegOutsideBand,
    &kWeightsDigestTextInvalid,
    &kWeightsShardNameInvalid,
    &kIntegrityInvalid,
    &kSealSidecar,
    &kSealDigest,
    &kSealForm,
    &kSealCross,
    &kSealArithmetic,
    &kSealContract,
};

}  // namespace assay::scoring
