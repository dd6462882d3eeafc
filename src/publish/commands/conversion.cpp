#include "publish/commands/conversion.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "cli/ranges.h"
#include "machine/detect.h"
#include "publish/commands/commands.h"
#include "publish/converters/rows.h"
#include "publish/privacy.h"
#include "publish/refusals.h"
#include "publish/store.h"
#include "publish/strict_upstream.h"
#include "publish/validate.h"

namespace assay::publish {

namespace {

const std::vector<std::string> kSuites = {
    "throughput",      "ttft",           "tool-calling",
    "code-accuracy",   "framework-eval", "capability-comparison",
    "coding",          "reasoning",      "knowledge",
    "evalplus",        "math-hard",      "promptstack",
    "grounded-summary"};

std::vector<std::string> kind_names() {
  std::vector<std::string> names = {"auto"};
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  return names;
}

// The commit of the folder this runs in, or nothing.
std::optional<std::string> git_commit() {
  const auto text = machine::this_host().run({"git", "rev-parse", "--short=12", "HEAD"});
  if (!text || trim(*text).empty()) return std::nullopt;
  return std::string(trim(*text));
}

// The JSON object in a file that a flag names; a byte order mark before it is passed over.
Result<json::Value> object_in(const std::string& path) {
  TRY(bytes, read_file(path));
  auto value = json::parse(bytes, {.skip_byte_order_mark = true});
  if (!value) return at(path, value.refusal());
  if (!value->is_object()) return Refusal(kConvertInput, cat("`", path, "` is no JSON object"));
  return std::move(*value);
}

Result<json::Value> system_of(const cli::Invocation& invocation, const Log& log) {
  json::Value system;
  if (const auto path = invocation.text("--system-file")) {
    TRY(stated, object_in(*path));
    system = std::move(stated);
  } else {
    auto detected = machine::detect_system(machine::this_host());
    for (const std::string& warning : detected.warnings) log.warning(warning);
    system = std::move(detected.system);
  }
  if (const auto name = invocation.text("--hostname")) system.set("hostname", *name);
  return system;
}

// --provenance-file: what proves the weights, where the tool's file does not say it.
Result<json::Value> provenance_of(const cli::Invocation& invocation) {
  const auto path = invocation.text("--provenance-file");
  if (!path) return json::Value();
  return object_in(*path);
}

// Fills the context; a sentence when the flags do not make sense.
std::optional<std::string> fill(RunContext& context, const cli::Invocation& invocation) {
  for (const char* flag : {"--model", "--timestamp", "--reasoning-effort", "--serving-stack",
                           "--serving-model", "--git-sha", "--hostname", "--tag"}) {
    for (const std::string& value : invocation.all(flag)) {
      if (!is_utf8(value)) return cat("the value of ", flag, " is not UTF-8");
    }
  }
  if (const auto zone = invocation.text("--tz");
      zone && !local_to_utc("2000-01-01T00:00:00", *zone))
    return cat("--tz \"", *zone, "\" is no zone: expected UTC or an offset such as +02:00");
  if (auto why = cli::out_of_range(invocation, {{"--pr-number", 1, INT32_MAX},
                                                {"--concurrency", 1, 1 << 20},
                                                {"--max-tokens", 1, 1 << 30},
                                                {"--serving-port", 1, 65535}}))
    return why;
  context.suite = invocation.text_or("--suite", "");
  context.trigger = invocation.text_or("--trigger", "local");
  context.pr_number = invocation.i64("--pr-number");
  context.model = invocation.text("--model");
  context.timestamp = invocation.text("--timestamp");
  context.time_zone = invocation.text("--tz");
  context.env_class = invocation.text("--env-class");
  context.concurrency = invocation.i64("--concurrency");
  context.reasoning_effort = invocation.text("--reasoning-effort");
  context.max_tokens = invocation.i64("--max-tokens");
  json::Value serving = json::Value::object();
  if (const auto text = invocation.text("--serving-stack")) serving.set("stack", *text);
  if (const auto port = invocation.i64("--serving-port")) serving.set("endpoint_port", *port);
  if (const auto text = invocation.text("--serving-model")) serving.set("served_model", *text);
  if (!serving.members().empty()) context.serving = std::move(serving);
  for (const std::string& tag : invocation.all("--tag")) {
    const size_t equals = tag.find('=');
    if (equals == std::string::npos || equals == 0)
      return cat("--tag \"", tag, "\" is not KEY=VALUE");
    context.tags.put(std::string_view(tag).substr(0, equals),
                     std::string_view(tag).substr(equals + 1));
  }
  context.allow_partial_failures = invocation.has("--allow-partial-failures");
  context.legacy_regime = invocation.has("--legacy-regime");
  context.allow_unknown_model = invocation.has("--allow-unknown-model");
  const auto sha = invocation.text("--git-sha") ? invocation.text("--git-sha") : git_commit();
  if (!sha) return "git names no commit here: give --git-sha";
  context.git_sha = *sha;
  return std::nullopt;
}

int refuse_problems(const std::string& path, const std::vector<Problem>& problems, const Log& log) {
  if (!log.problems(path, problems)) return cli::kOk;
  return log.refuse(Refusal(kEnvelopeInvalid, cat("`", path, "`: ", problems.size(),
                                                  problems.size() == 1 ? " problem" : " problems")),
                    kExitInvalid);
}

// What the shard's name is made of, whatever else is not checked: it must not lead elsewhere.
int check_name(const Envelope& envelope, const std::string& path, const Log& log) {
  std::vector<Problem> problems;
  for (const char* part : {"git_sha", "timestamp"}) {
    const std::string text = envelope.text(part);
    if (is_plain_path(text) && text.find('/') == std::string::npos) continue;
    problems.push_back({"E-SCHEMA", cat("$.", part),
                        cat("\"", text, "\" cannot be a part of a file's name: expected no slash, ",
                            "backslash or control character")});
  }
  return refuse_problems(path, problems, log);
}

// The rules of a record. Logs the problems and returns an exit code; rows whose regime may be
// unstated say so afterwards.
int check(Envelope& envelope, const std::string& path, bool legacy_regime, const Log& log) {
  const ValidateOptions options{.legacy_regime = legacy_regime, .now_seconds = std::time(nullptr)};
  std::vector<Problem> problems;
  if (envelope.results.size() <= 10000) {
    problems = validate(to_json(envelope), options);
  } else {
    // The typed rows are what the schema asks for by construction; the head is checked as JSON.
    Envelope head;
    head.head = envelope.head;
    problems = check_schema(to_json(head));
    for (Problem& problem : check_semantics(envelope, options))
      problems.push_back(std::move(problem));
  }
  if (const int exit = refuse_problems(path, problems, log); exit != cli::kOk) return exit;
  const bool unstated = std::any_of(problems.begin(), problems.end(),
                                    [](const Problem& p) { return p.code == "W-REGIME"; });
  if (unstated) {
    for (ResultRow& row : envelope.results) row.tag("regime", "unstated");
  }
  return cli::kOk;
}

}  // namespace

FinishedEnvelope::FinishedEnvelope(Envelope full, bool strict) : stored_(std::move(full)) {
  if (!strict) return;
  Envelope kept = strict_upstream(stored_);
  kept.control_of_next = stored_.control_of_next;
  facts_ = std::move(stored_.head);
  stored_ = std::move(kept);
}

std::vector<cli::Flag> conversion_flags() {
  using cli::Arity;
  using cli::Type;
  std::vector<cli::Flag> flags = {
      {.names = {"--suite"},
       .value_name = "S",
       .help = "What was measured.",
       .required = true,
       .choices = kSuites},
      {.names = {"--kind"},
       .value_name = "K",
       .help = "The tool that wrote the files; auto recognises it.",
       .choices = kind_names()},
      {.names = {"--model"}, .value_name = "ID", .help = "Model id, instead of the file's."},
      {.names = {"--git-sha"},
       .value_name = "SHA",
       .help = "Commit of the benchmark repository (default: git's here)."},
      {.names = {"--timestamp"},
       .value_name = "UTC",
       .help = "Start of the run, instead of the file's."},
      {.names = {"--tz"},
       .value_name = "ZONE",
       .help = "Zone of local times in the files: UTC, +02:00."},
      {.names = {"--trigger"},
       .value_name = "T",
       .help = "What started the run.",
       .choices = {"schedule", "pr", "workflow_dispatch", "local"}},
      {.names = {"--pr-number"},
       .value_name = "N",
       .help = "Pull request, with --trigger pr.",
       .type = Type::i64},
      {.names = {"--env-class"},
       .value_name = "C",
       .help = "Whether the machine did anything else.",
       .choices = {"isolated", "under-load"}},
      {.names = {"--concurrency"},
       .value_name = "N",
       .help = "Requests kept in flight.",
       .type = Type::u32},
      {.names = {"--reasoning-effort"},
       .value_name = "LEVEL",
       .help = "Level asked for, as written."},
      {.names = {"--max-tokens"},
       .value_name = "N",
       .help = "Most new tokens a request, where the file does not say.",
       .type = Type::u32},
      {.names = {"--serving-stack"},
       .value_name = "NAME",
       .help = "Software that served the model."},
      {.names = {"--serving-port"}, .value_name = "PORT", .help = "Its port.", .type = Type::u32},
      {.names = {"--serving-model"}, .value_name = "NAME", .help = "Name it was served under."},
      {.names = {"--tag"},
       .arity = Arity::repeatable,
       .value_name = "KEY=VALUE",
       .help = "A fact for every row."},
      {.names = {"--system-file"},
       .value_name = "FILE",
       .help = "The machine that ran, as JSON; default: this one."},
      {.names = {"--provenance-file"},
       .value_name = "FILE",
       .help = "What proves the weights, as JSON (the envelope's `provenance`)."},
      {.names = {"--hostname"},
       .value_name = "NAME",
       .help = "Host name for the machine's facts, where --publish-hostname keeps it."},
      {.names = {"--publish-hostname"},
       .arity = Arity::toggle,
       .help = "Keep the host name in the record."},
      {.names = {"--allow-partial-failures"},
       .arity = Arity::toggle,
       .help = "Keep the figures of a run with failed requests, marked partial."},
      {.names = {"--legacy-regime"},
       .arity = Arity::toggle,
       .help = "Accept cumulative figures without their conditions; they are never ranked."},
      {.names = {"--allow-unknown-model"},
       .arity = Arity::toggle,
       .help = "Accept files that name no model."},
      {.names = {"--strict-upstream"},
       .arity = Arity::toggle,
       .help = "Only fields of the upstream schema; ours become tags (regime.max_tokens=…)."},
      {.names = {"--no-validate"},
       .arity = Arity::toggle,
       .help = "Leave out schema and semantic rules."},
  };
  for (cli::Flag& flag : log_flags()) flags.push_back(std::move(flag));
  return flags;
}

Converted convert_files(const cli::Invocation& invocation, const Log& log) {
  Converted out;
  RunContext context;
  if (const auto problem = fill(context, invocation)) {
    out.exit = invocation.refuse_usage(*problem);
    return out;
  }
  auto system = system_of(invocation, log);
  if (!system) {
    out.exit = log.refuse(system.refusal(), kExitInput);
    return out;
  }
  context.system = *std::move(system);
  const auto provenance = provenance_of(invocation);
  if (!provenance) {
    out.exit = log.refuse(provenance.refusal(), kExitInput);
    return out;
  }
  const std::string kind = invocation.text_or("--kind", "auto");
  for (const std::string& path : invocation.arguments("FILE")) {
    const auto file = read_tool_file(path, kind);
    if (!file) {
      out.exit = log.refuse(file.refusal(), kExitInput);
      return out;
    }
    auto envelopes = convert_file(*file, kind, context);
    if (!envelopes) {
      const bool empty = envelopes.refusal().code == kNothingToPublish.code;
      out.exit = log.refuse(envelopes.refusal(), empty ? kExitPublish : kExitInput);
      return out;
    }
    std::string control;  // digest of the envelope before, when it is this one's control
    for (Envelope& envelope : *envelopes) {
      if (!control.empty()) name_control(envelope, control);
      if (provenance->is_object() && !envelope.control_of_next) {
        if (envelope.find("provenance") != nullptr) {
          out.exit = log.refuse(
              Refusal(kConvertInput,
                      cat("`", path, "` states its own provenance; leave out --provenance-file")),
              kExitInput);
          return out;
        }
        envelope.head.set("provenance", *provenance);
      }
      const std::string status = envelope.text("cell_status");
      if (envelope.results.empty() && (status.empty() || status == "success")) {
        out.exit =
            log.refuse(Refusal(kNothingToPublish, cat("`", path, "` gives no row")), kExitPublish);
        return out;
      }
      make_private(envelope, {.keep_host_names = invocation.has("--publish-hostname")});
      out.exit = invocation.has("--no-validate")
                     ? check_name(envelope, path, log)
                     : check(envelope, path, context.legacy_regime, log);
      if (out.exit != cli::kOk) return out;
      out.envelopes.emplace_back(std::move(envelope), invocation.has("--strict-upstream"));
      const FinishedEnvelope& finished = out.envelopes.back();
      control = finished.is_control() ? envelope_sha256(finished.stored()) : "";
    }
  }
  return out;
}

}  // namespace assay::publish
