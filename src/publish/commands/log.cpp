#include "publish/commands/log.h"

#include <ctime>
#include <iostream>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"

namespace assay::publish {

namespace {

constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

const char* name_of(Level level) {
  return kNames[static_cast<size_t>(level)];
}
std::string time_now() {
  return format_utc(static_cast<int64_t>(std::time(nullptr)));
}

}  // namespace

std::vector<cli::Flag> log_flags() {
  return {{.names = {"--log-format"},
           .value_name = "F",
           .help = "Log lines with UTC time and level, as text or JSON (default: plain progress).",
           .choices = {"text", "json"}},
          {.names = {"--log-level"},
           .value_name = "L",
           .help = "Least level that is shown (default: INFO).",
           .choices = {std::begin(kNames), std::end(kNames)}}};
}

Log::Log(const cli::Invocation& invocation) : invocation_(&invocation) {
  const auto format = invocation.text("--log-format");
  if (format) form_ = *format == "json" ? Form::json : Form::text;
  const std::string least = invocation.text_or("--log-level", "INFO");
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (least == kNames[i]) least_ = static_cast<Level>(i);
  }
}

void Log::say(Level level, std::string_view text) const {
  if (level >= least_) write(level, text, "");
}

void Log::write(Level level, std::string_view text, std::string_view code) const {
  if (form_ == Form::progress) {
    invocation_->progress(level == Level::warning ? cat("warning: ", text) : std::string(text));
    return;
  }
  if (invocation_->quiet() && level < Level::error) return;
  if (form_ == Form::text) {
    std::cerr << cat(time_now(), " ", name_of(level), " ", invocation_->name(), ": ", code,
                     code.empty() ? "" : ": ", printable_line(text), "\n");
    return;
  }
  json::Value facts = json::Value::object();
  if (!code.empty()) facts.set("refusal", code);
  write_json(level, std::move(facts), text);
}

void Log::write_json(Level level, json::Value facts, std::string_view text) const {
  json::Value line = json::Value::object({{"time", time_now()}, {"level", name_of(level)}});
  for (auto& [key, value] : facts.members()) line.set(key, std::move(value));
  line.set("message", text);
  std::cerr << json::write(line) << "\n";
}

bool Log::problems(std::string_view file, const std::vector<Problem>& problems) const {
  if (form_ == Form::progress && !problems.empty())
    std::cerr << cat(invocation_->name(), ": ", printable_line(file), ":\n");
  bool failed = false;
  for (const Problem& problem : problems) {
    failed = failed || !problem.is_warning();
    const Level level = problem.is_warning() ? Level::warning : Level::error;
    if (form_ == Form::progress) {
      const std::string text = cat(problem.message, " (at ", problem.path, ")");
      std::cerr << cat("  - ", problem.code, " ", printable_line(text), "\n");
    } else if (level < least_ || (invocation_->quiet() && level < Level::error)) {
      continue;
    } else if (form_ == Form::text) {
      write(level, cat(file, ": ", problem.message, " (at ", problem.path, ")"), problem.code);
    } else {
      write_json(
          level,
          json::Value::object({{"problem", problem.code}, {"file", file}, {"path", problem.path}}),
          problem.message);
    }
  }
  return failed;
}

int Log::refuse(const Refusal& refusal, int exit) const {
  if (form_ == Form::progress || invocation_->json()) return invocation_->refuse(refusal, exit);
  write(Level::error, refusal.detail, refusal.code);
  return exit;
}

}  // namespace assay::publish
