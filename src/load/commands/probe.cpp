// probe: a few measured requests to one endpoint, written as one file.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/files.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/ranges.h"
#include "load/commands/commands.h"
#include "load/probe.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

volatile std::sig_atomic_t g_signal = 0;

// A first signal ends the measurement with a truthful file; a second one ends the program.
void on_signal(int signal) {
  g_signal = signal;
  std::signal(signal, SIG_DFL);
}

Status check_signal() {
  if (g_signal == 0) return {};
  return Refusal(kStopped, cat("signal ", static_cast<int>(g_signal)));
}

// "false", "3", {"a":1} as JSON; everything else as text.
json::Value json_or_text(const std::string& text) {
  auto parsed = json::parse(text);
  return parsed ? *std::move(parsed) : json::Value(text);
}

// Why the flags do not go together; fills `options`.
std::optional<std::string> read_flags(const cli::Invocation& invocation, ProbeOptions& options) {
  if (auto why = cli::out_of_range(invocation, {{"--max-tokens", 1, 1 << 24},
                                                {"--prompt-tokens", 1, 1 << 24},
                                                {"--prompt-tolerance", 0, 1 << 24},
                                                {"--window", 1, 1 << 24},
                                                {"--repeats", 0, 10'000},
                                                {"--warmups", 0, 1'000},
                                                {"--width", 0, 1'024},
                                                {"--retries", 0, 1'000}}))
    return why;
  for (const auto& [flag, least] : {std::pair{"--retry-interval", 0.0},
                                    {"--timeout", 0.001},
                                    {"--connect-timeout", 0.001},
                                    {"--temperature", 0.0}}) {
    const auto value = invocation.f64(flag);
    if (value && !(*value >= least && *value <= 1e6))
      return cat(flag, " takes ", least, " to 1000000, not ", *invocation.text(flag));
  }
  if (const auto share = invocation.f64("--max-error-rate")) {
    if (!(*share >= 0 && *share < 1)) {
      return cat("--max-error-rate takes a share from 0 to below 1, not ",
                 *invocation.text("--max-error-rate"));
    }
    options.max_error_rate = *share;
  }
  for (const std::string_view flag :
       {"--model", "--think-kwarg", "--think-value", "--thinking", "--serving-stack", "--nonce"}) {
    if (!is_utf8(invocation.text_or(flag, ""))) return cat(flag, " is not UTF-8 text");
  }
  const auto small = [&](std::string_view flag, int& target) {
    if (const auto value = invocation.i64(flag)) target = static_cast<int>(*value);
  };
  const auto duration = [&](std::string_view flag, std::chrono::milliseconds& target) {
    if (const auto value = invocation.f64(flag)) {
      target = std::chrono::milliseconds(static_cast<int64_t>(*value * 1000));
    }
  };
  options.model = invocation.text_or("--model", "");
  options.max_tokens = invocation.i64("--max-tokens").value_or(options.max_tokens);
  options.prompt_tokens = invocation.i64("--prompt-tokens");
  options.prompt_tolerance_tokens =
      invocation.i64("--prompt-tolerance").value_or(options.prompt_tolerance_tokens);
  options.configured_window_tokens = invocation.i64("--window");
  small("--repeats", options.repeats);
  small("--warmups", options.warmups);
  small("--width", options.width);
  small("--retries", options.retries_max);
  if (options.repeats == 0 && options.width == 0) return "--repeats 0 needs a --width";
  options.temperature = invocation.f64("--temperature").value_or(options.temperature);
  duration("--retry-interval", options.retry_interval);
  duration("--timeout", options.limits.request);
  duration("--connect-timeout", options.limits.connect);
  options.think_kwarg = invocation.text("--think-kwarg");
  if (const auto value = invocation.text("--think-value")) {
    if (!options.think_kwarg) return "--think-value needs --think-kwarg, the name it is sent under";
    options.think_value = json_or_text(*value);
  } else if (options.think_kwarg) {
    return "--think-kwarg needs --think-value";
  }
  options.thinking = invocation.text_or("--thinking", options.thinking);
  options.shared_prefix = invocation.text_or("--prefix-policy", "") == "shared_prefix";
  options.require_usage = !invocation.has("--allow-chunk-counts");
  options.check_tool_call = invocation.has("--check-tools");
  options.dedicated = invocation.has("--dedicated");
  options.initial_model_state =
      invocation.text_or("--initial-model-state", options.initial_model_state);
  options.nonce = invocation.text_or("--nonce", "");
  if (const auto text = invocation.text("--extra-body")) {
    const auto parsed = json::parse(*text);
    if (!parsed || !parsed->is_object()) return "--extra-body takes a JSON object";
    // The file would tell of another request than was sent.
    for (const char* key : {"model", "messages", "max_tokens", "max_completion_tokens", "n",
                            "stream", "stream_options", "temperature", "tools"}) {
      if (parsed->find(key) != nullptr)
        return cat("--extra-body holds `", key, "`, which the probe itself decides");
    }
    if (options.think_kwarg && parsed->find("chat_template_kwargs") != nullptr)
      return "--extra-body holds `chat_template_kwargs`, which --think-kwarg decides";
    options.extra_body = *parsed;
  }
  if (const auto stack = invocation.text("--serving-stack")) {
    options.serving = json::Value::object({{"stack", *stack}});
  }
  return std::nullopt;
}

// The key stays in the environment: on a command line every user of the machine could read it.
std::optional<std::string> read_key(const cli::Invocation& invocation, Endpoint& endpoint) {
  const auto name = invocation.text("--api-key-env");
  if (!name) return std::nullopt;
  const char* key = std::getenv(name->c_str());
  if (key == nullptr || *key == '\0') return cat("the environment has no `", *name, "`");
  for (const char* c = key; *c != '\0'; ++c) {
    if (static_cast<unsigned char>(*c) < ' ') return cat("`", *name, "` holds a control character");
  }
  endpoint.headers.emplace_back("Authorization", cat("Bearer ", key));
  return std::nullopt;
}

std::string default_file() {
  std::string stamp = WallAnchor::take().utc(now());
  std::string name = "probe-";
  for (const char c : stamp.substr(0, 19)) name += c == ':' ? '-' : c;
  return name + ".json";
}

std::string figure_line(const json::Value& sequential, std::string_view key, std::string_view name,
                        double scale, int decimals, std::string_view unit) {
  const json::Value* spread = sequential.find(key);
  if (spread == nullptr) return cat("  ", name, ": not known\n");
  const auto number = [&](std::string_view part) {
    const auto value = spread->find(part)->as_double(part);
    return format_fixed(value ? *value * scale : 0, decimals);
  };
  return cat("  ", name, ": ", number("median"), " ", unit, " (", number("min"), " to ",
             number("max"), ")\n");
}

std::string summary(const ProbeResult& result, const std::string& file) {
  std::string text = cat(name_of(result.status), ": ");
  if (result.status != CellStatus::success) {
    return cat(text, result.problem ? printable_line(result.problem->text()) : "",
               "\n  phase: ", result.phase, "\n  file: ", file, "\n");
  }
  const json::Value& sequential = *result.document.find("sequential");
  const json::Value* context = result.document.find("context");
  const json::Value* prompt = context->find("actual_prompt_tokens");
  const auto good = std::count_if(result.sequential.begin(), result.sequential.end(),
                                  [](const MeasuredRun& run) { return run.ok(); });
  text += cat(printable_line(result.document.find("model")->string()), ", prompt ",
              prompt == nullptr ? "?" : prompt->literal(), " tokens, at most ",
              result.document.find("max_tokens")->literal(), " new, ", good,
              " runs (median, min to max)\n");
  if (!result.sequential.empty()) {
    text += figure_line(sequential, "cumulative_tok_s", "cumulative", 1, 1, "tok/s");
    text += figure_line(sequential, "decode_tok_s", "decode", 1, 1, "tok/s");
    text += figure_line(sequential, "prefill_tok_s", "prefill", 1, 1, "tok/s");
    text += figure_line(sequential, "ttft_s", "first token", 1000, 2, "ms");
    text += figure_line(sequential, "total_s", "request", 1000, 1, "ms");
  }
  if (const json::Value* batch = result.document.find("concurrent")) {
    const auto rate = [&](std::string_view key) {
      const json::Value* value = batch->find(key);
      const auto number = value == nullptr ? std::nullopt : parse_double(value->literal());
      return number ? cat(format_fixed(*number, 1), " tok/s") : std::string("not known");
    };
    text +=
        cat("  ", batch->find("width")->literal(), " at once: ", rate("aggregate_cumulative_tok_s"),
            " cumulative, ", rate("aggregate_decode_tok_s"), " output\n");
  }
  const json::Value& answers = *result.document.find("measured_answers");
  if (const std::string& errors = answers.find("errors")->literal(); errors != "0") {
    text +=
        cat("  errors: ", errors, " of ", answers.find("answered")->literal(),
            " answers, in no figure; statuses ", json::write(*answers.find("http_statuses")), "\n");
  }
  if (result.answered_rate)
    text += cat("  answered: ", format_fixed(*result.answered_rate * 100, 0), " %\n");
  if (result.tool_call_valid) {
    text += cat("  tool call: ", *result.tool_call_valid == 1 ? "valid" : "not valid", "\n");
  }
  return cat(text, "  file: ", file, "\n");
}

int exit_code(const ProbeResult& result) {
  if (g_signal != 0) return 128 + static_cast<int>(g_signal);
  // Nothing was measured yet: it is the endpoint that has to be seen to first.
  const bool first_contact = result.phase == "model-list" || result.phase == "readiness";
  if (first_contact && (result.status == CellStatus::aborted ||
                        (result.problem && result.problem->code == kPreflight.code))) {
    return cli::kNotReady;
  }
  return exit_of(result.status);
}

int run(const cli::Invocation& invocation) {
  ProbeOptions options;
  auto endpoint = parse_endpoint(*invocation.text("--base-url"));
  if (!endpoint) return invocation.refuse(endpoint.refusal(), cli::kUsage);
  options.endpoint = *std::move(endpoint);
  if (const auto why = read_key(invocation, options.endpoint)) return invocation.refuse_usage(*why);
  if (const auto why = read_flags(invocation, options)) return invocation.refuse_usage(*why);

  const std::string file = invocation.text("--out").value_or(default_file());
  std::error_code error;
  if (!invocation.has("--force") && std::filesystem::is_regular_file(file, error))
    return invocation.refuse(Refusal(kOutExists, cat("`", file, "`")), cli::kInputOutput);
  bool unwritten = false;
  options.save = [&](const json::Value& document) {
    Status written = write_file_atomic(file, cat(json::write(document, {.indent = 1}), "\n"));
    unwritten = unwritten || !written;
    return written;
  };
  options.progress = [&](std::string_view text) { invocation.progress(text); };
  options.guard = check_signal;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);

  const ProbeResult result = run_probe(std::move(options));
  if (unwritten) return invocation.refuse(*result.problem, cli::kInputOutput);
  const int exit = exit_code(result);
  if (invocation.json()) {
    json::Value report = json::Value::object({{"ok", exit == cli::kOk}, {"exit", exit}});
    if (result.problem) {
      report.set("refusal", result.problem->code);
      report.set("detail", result.problem->detail);
    }
    report.set("file", file);
    report.set("probe", result.document);
    std::cout << json::write(report) << "\n";
  } else {
    std::cout << summary(result, file);
  }
  return exit;
}

}  // namespace

cli::Command probe_command() {
  using cli::Arity;
  using cli::Type;
  return {
      .name = "probe",
      .summary = "Measures one model behind one endpoint with a few streamed requests.",
      .example =
          "assay-load probe --base-url http://127.0.0.1:8080/v1 --prompt-tokens 2048 "
          "--max-tokens 128 --out probe.json",
      .flags =
          {{.names = {"--base-url"},
            .value_name = "URL",
            .help = "The endpoint, http://HOST:PORT/v1; the server itself, not a proxy.",
            .required = true},
           {.names = {"--model", "-m"},
            .value_name = "ID",
            .help = "Model as the endpoint lists it; the only one listed without this."},
           {.names = {"--out", "-o"},
            .value_name = "FILE",
            .help = "The file to write; probe-TIME.json without this. Written before the first "
                    "request and after every step; a file that is there is refused."},
           {.names = {"--force"},
            .arity = Arity::toggle,
            .help = "Write over a file that is there."},
           {.names = {"--prompt-tokens"},
            .value_name = "N",
            .help = "Prompt length, reached by calibration; a short prompt without this.",
            .type = Type::i64},
           {.names = {"--prompt-tolerance"},
            .value_name = "N",
            .help = "How far the server's count may lie from it (64).",
            .type = Type::i64},
           {.names = {"--max-tokens"},
            .value_name = "N",
            .help = "Most new tokens a request (128).",
            .type = Type::i64},
           {.names = {"--window"},
            .value_name = "N",
            .help = "Configured context window; prompt and new tokens must fit into it.",
            .type = Type::i64},
           {.names = {"--repeats"},
            .value_name = "N",
            .help = "Measured requests, one after the other (4).",
            .type = Type::i64},
           {.names = {"--warmups"},
            .value_name = "N",
            .help = "Unscored requests before them (1).",
            .type = Type::i64},
           {.names = {"--width"},
            .value_name = "N",
            .help = "Requests of a batch at once, after them (0: none).",
            .type = Type::i64},
           {.names = {"--temperature"},
            .value_name = "T",
            .help = "Sampling temperature (0).",
            .type = Type::f64},
           {.names = {"--think-kwarg"},
            .value_name = "NAME",
            .help = "Name in chat_template_kwargs that switches thinking, e.g. enable_thinking."},
           {.names = {"--think-value"}, .value_name = "VALUE", .help = "Its value, JSON or text."},
           {.names = {"--thinking"},
            .value_name = "LEVEL",
            .help = "The thinking level as a person names it, for the record."},
           {.names = {"--prefix-policy"},
            .value_name = "POLICY",
            .help =
                "unique_full_prompt: every prompt is new to every cache, and the server's cached "
                "tokens must be 0; shared_prefix: one prompt for all.",
            .choices = {"unique_full_prompt", "shared_prefix"}},
           {.names = {"--allow-chunk-counts"},
            .arity = Arity::toggle,
            .help = "Take chunks for tokens where the server reports no usage; the file says so."},
           {.names = {"--check-tools"},
            .arity = Arity::toggle,
            .help = "Also ask for one tool call, unscored, and check that it is valid."},
           {.names = {"--dedicated"},
            .arity = Arity::toggle,
            .help = "Declare that nothing else uses the endpoint."},
           {.names = {"--initial-model-state"},
            .value_name = "STATE",
            .help = "The model at the first request.",
            .choices = {"cold", "resident", "unknown"}},
           {.names = {"--serving-stack"},
            .value_name = "TEXT",
            .help = "What serves, for the record: llama.cpp, vllm …"},
           {.names = {"--extra-body"},
            .value_name = "JSON",
            .help = "Object whose members are added to every request."},
           {.names = {"--retries"},
            .value_name = "N",
            .help = "Most retries of a request while the endpoint is unavailable (6).",
            .type = Type::i64},
           {.names = {"--retry-interval"},
            .value_name = "SECONDS",
            .help = "Pause between them (20).",
            .type = Type::f64},
           {.names = {"--max-error-rate"},
            .value_name = "SHARE",
            .help = "Share of the measured requests that may be answered with 4xx or 5xx, 0.01 for "
                    "1 % (0: none); they are in no figure.",
            .type = Type::f64},
           {.names = {"--timeout"},
            .value_name = "SECONDS",
            .help = "Longest a request may take (1800).",
            .type = Type::f64},
           {.names = {"--connect-timeout"},
            .value_name = "SECONDS",
            .help = "Longest a connection may take to stand (10).",
            .type = Type::f64},
           {.names = {"--api-key-env"},
            .value_name = "NAME",
            .help = "Environment variable that holds the key to send; it is written nowhere."},
           {.names = {"--nonce"},
            .value_name = "TEXT",
            .help = "Seed of the prompts' words, to send the same prompts again."}},
      .run = run,
      .notes =
          "Exit: 0 success or not applicable, 1 the measurement failed or was stopped, 2 usage, "
          "3 the file cannot be written, 4 the endpoint is not ready, 130 interrupted.\n"
          "The file goes into the record with: assay-publish publish FILE --suite throughput "
          "--kind throughput-probe"};
}

}  // namespace assay::load
