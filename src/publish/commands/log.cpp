#include "publish/commands/log.h"

#include <ctime>
#include <iostream>

#include "base/json.h"
#include "base/text.h"

namespace assay::publish {

namespace {

constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

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
  const std::string time = format_utc(static_cast<int64_t>(std::time(nullptr)));
  const char* name = kNames[static_cast<size_t>(level)];
  if (form_ == Form::text) {
    std::cerr << cat(time, " ", name, " ", invocation_->name(), ": ", code,
                     code.empty() ? "" : ": ", text, "\n");
    return;
  }
  json::Value line = json::Value::object({{"time", time}, {"level", name}});
  if (!code.empty()) line.set("refusal", code);
  line.set("message", text);
  std::cerr << json::write(line) << "\n";
}

int Log::refuse(const Refusal& refusal, int exit) const {
  if (form_ == Form::progress || invocation_->json()) return invocation_->refuse(refusal, exit);
  write(Level::error, refusal.detail, refusal.code);
  return exit;
}

}  // namespace assay::publish
