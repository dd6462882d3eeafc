#include "benchd/iterate_options.h"

#include "base/text.h"
#include "benchd/refusals.h"
#include "cli/refusals.h"
#include "protocol/codec.h"
#include "protocol/spec.h"
#include "scoring/refusals.h"

namespace assay::benchd {

namespace {

using cli::Arity;
using cli::Flag;
using cli::Type;

constexpr uint32_t kDraftDepthMax = 32;

Result<GoldenPins> read_pins(const cli::Invocation& invocation, const std::string& flag) {
  GoldenPins pins;
  pins.sha256 = invocation.all(flag + "-sha256");
  for (const std::string& text : invocation.all(flag + "-bytes")) {
    const auto bytes = parse_uint64(text);
    if (!bytes) {
      return Refusal(cli::kUsageInvalidValue,
                     cat(flag, "-bytes `", text, "` is not a number of bytes"));
    }
    pins.bytes.push_back(*bytes);
  }
  return pins;
}

Result<Mode> read_mode(const cli::Invocation& invocation) {
  if (invocation.command().name == "official") return Mode::official;
  const std::string name = invocation.text_or("--mode", "local-iterate");
  for (const Mode mode : {Mode::local_iterate, Mode::local_submit, Mode::official}) {
    if (name == name_of(mode)) return mode;
  }
  return Refusal(
      cli::kUsageInvalidValue,
      cat("invalid --mode \"", name, "\" (expected local-iterate, local-submit, or official)"));
}

Result<std::optional<protocol::SpecConfig>> read_spec(const cli::Invocation& invocation) {
  using Spec = std::optional<protocol::SpecConfig>;
  if (const auto text = invocation.text("--candidate-spec")) {
    TRY(spec, parse_candidate_spec(*text));
    return Spec(std::move(spec));
  }
  const auto depth = invocation.u32("--mtp-depth");
  if (!depth) return Spec();
  if (*depth == 0 || *depth > kDraftDepthMax) {
    return Refusal(cli::kUsageInvalidValue,
                   cat("--mtp-depth ", *depth, " is not in 1..", kDraftDepthMax,
                       *depth == 0 ? "; a serial run is one without the flag" : ""));
  }
  return Spec(protocol::mtp_spec(*depth));
}

std::vector<std::filesystem::path> paths_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::local_iterate: return "local-iterate";
    case Mode::local_submit: return "local-submit";
    case Mode::official: break;
  }
  return "official";
}

std::vector<Flag> iterate_flags(bool with_mode) {
  std::vector<Flag> flags = {
      {{"--engine"}, Arity::value, "PATH", "The candidate's worker program.", true},
      {{"--weights"}, Arity::value, "DIR", "Folder of weights, or one GGUF file.", true},
      {{"--contract"},
       Arity::value,
       "FILE",
       "The track's contract; everything scored comes from it."},
      {{"--golden"},
       Arity::repeatable,
       "FILE",
       "Golden to be judged against; several only with pairs.",
       true},
      {{"--golden-sha256"}, Arity::repeatable, "HEX", "Digest of the golden at the same position."},
      {{"--golden-bytes"}, Arity::repeatable, "N", "Size of the golden at the same position."},
      {{"--control-golden"},
       Arity::repeatable,
       "FILE",
       "Serial golden of the same prompt, for the control leg."},
      {{"--control-golden-sha256"}, Arity::repeatable, "HEX", "Digest of that control golden."},
      {{"--control-golden-bytes"}, Arity::repeatable, "N", "Size of that control golden."},
      {{"--score-path"}, Arity::value, "FILE", "Where to seal (score.json; local: see notes)."},
      {{"--baseline-workspace"}, Arity::value, "DIR", "The organizer's reference tree."},
      {{"--baseline-calibration"}, Arity::value, "FILE", "This box's calibration file."},
      {{"--box"}, Arity::value, "NAME", "Name of this box; RUNNER_NAME wins."},
      {{"--baseline-prefill-spt"},
       Arity::value,
       "S",
       "Stored prefill figure, of tracks that have one.",
       false,
       Type::f64},
      {{"--baseline-decode-spt"},
       Arity::value,
       "S",
       "Stored decode figure, of tracks that have one.",
       false,
       Type::f64},
      {{"--cool-gate"},
       Arity::toggle,
       "",
       "Wait for a quiet, cool machine before each phase.",
       false,
       Type::text,
       {},
       {"--no-cool-gate"}},
      {{"--no-cool-gate"},
       Arity::toggle,
       "",
       "Do not wait; the seal says so.",
       false,
       Type::text,
       {},
       {"--cool-gate"}},
      {{"--strict"}, Arity::toggle, "", "Local: run the golden's anchor and free-run cases too."},
      {{"--mtp-depth"},
       Arity::value,
       "N",
       "Draft depth of the candidate; without it the run is serial.",
       false,
       Type::u32,
       {},
       {"--candidate-spec"}},
      {{"--candidate-spec"}, Arity::value, "JSON", "Speculation request, in full."},
      {{"--engine-resource"},
       Arity::repeatable,
       "NAME=PATH",
       "Passed to the engine as --resource."},
      {{"--unsandboxed"},
       Arity::toggle,
       "",
       "Official: run the candidate without a sandbox; the seal says so."},
      {{"--capture-baseline"}, Arity::value, "FILE", "Record a stored baseline."},
      {{"--capture-timed-only"}, Arity::toggle, "", "Record without the correctness pass."},
      {{"--capture-passes"}, Arity::value, "LABELS", "Record several passes in one residency."},
      {{"--weights-digest"}, Arity::value, "SHA:BYTES:FILES", "Digest to record, unread."},
  };
  if (with_mode) {
    flags.push_back({{"--mode"},
                     Arity::value,
                     "MODE",
                     "What kind of run.",
                     false,
                     Type::text,
                     {"local-iterate", "local-submit", "official"}});
  }
  return flags;
}

Result<IterateOptions> read_iterate_options(const cli::Invocation& invocation) {
  IterateOptions options;
  TRY(mode, read_mode(invocation));
  options.mode = mode;
  options.engine = *invocation.text("--engine");
  options.weights = *invocation.text("--weights");
  options.goldens = paths_of(invocation.all("--golden"));
  options.control_goldens = paths_of(invocation.all("--control-golden"));
  TRY(golden_pins, read_pins(invocation, "--golden"));
  options.golden_pins = std::move(golden_pins);
  TRY(control_pins, read_pins(invocation, "--control-golden"));
  options.control_golden_pins = std::move(control_pins);
  options.score_path = invocation.text_or(
      "--score-path", mode == Mode::local_iterate ? "score.local-iterate.json" : "score.json");
  options.baseline_workspace = invocation.text("--baseline-workspace");
  options.baseline_calibration = invocation.text("--baseline-calibration");
  options.box = invocation.text("--box");
  if (invocation.has("--baseline-prefill-spt") != invocation.has("--baseline-decode-spt")) {
    return Refusal(cli::kUsageMissingFlag,
                   "--baseline-prefill-spt and --baseline-decode-spt go together");
  }
  options.stored_pair_given = invocation.has("--baseline-prefill-spt");
  options.cool_gate = invocation.has("--cool-gate") ||
                      (mode != Mode::local_iterate && !invocation.has("--no-cool-gate"));
  options.strict = invocation.has("--strict");
  options.unsandboxed = invocation.has("--unsandboxed");
  options.capture = invocation.has("--capture-baseline") ||
                    invocation.has("--capture-timed-only") || invocation.has("--capture-passes") ||
                    invocation.has("--weights-digest");
  TRY(spec, read_spec(invocation));
  options.spec = std::move(spec);
  options.resources = invocation.all("--engine-resource");
  const auto contract = invocation.text("--contract");
  if (!contract) {
    if (mode == Mode::official) {
      return Refusal(cli::kUsageMissingFlag, "missing required --contract");
    }
    return Refusal(scoring::kWindowShapeUndeclared,
                   "no --contract is given, and the window shape comes from it alone");
  }
  options.contract = *contract;
  return options;
}

Result<protocol::SpecConfig> parse_candidate_spec(std::string_view text) {
  auto value = json::parse(text);
  if (!value) return Refusal(kCandidateSpecInvalid, value.refusal().text());
  if (!value->is_object()) {
    return Refusal(kCandidateSpecInvalid,
                   cat("a JSON object is needed, found ", json::kind_name(value->kind())));
  }
  // The wire's own reader judges it, inside a request that carries nothing else.
  const std::string line =
      cat("{\"id\":1,\"kind\":\"free_decode_begin\",\"spec\":", json::write(*value), "}");
  auto request = protocol::read_request(line);
  if (!request) return Refusal(kCandidateSpecInvalid, request.refusal().detail);
  if (auto status = protocol::check_spec(*request->spec); !status) {
    return Refusal(kCandidateSpecInvalid, status.refusal().detail);
  }
  return *std::move(request->spec);
}

}  // namespace assay::benchd
