#include "support/scripted_transport.h"

#include <utility>

#include "protocol/line.h"

namespace assay::support {

using runner::LineRead;

ScriptedTransport::ScriptedTransport(std::vector<std::string> first_lines, Responder responder,
                                     std::shared_ptr<TransportLog> log)
    : lines_(first_lines.begin(), first_lines.end()),
      responder_(std::move(responder)),
      log_(std::move(log)) {}

Status ScriptedTransport::write_line(std::string_view line, runner::Instant) {
  if (failing_write && failing_write->first == static_cast<int>(log_->written.size()) + 1) {
    return failing_write->second;
  }
  log_->written.emplace_back(line);
  if (log_->on_write) log_->on_write(log_->written.size());
  if (responder_) {
    for (auto& answer : responder_(std::string(line.substr(0, line.size() - 1)))) {
      lines_.push_back(std::move(answer));
    }
  }
  return {};
}

LineRead ScriptedTransport::read_line(runner::Instant deadline) {
  ++log_->reads;
  read_deadlines.push_back(deadline);
  if (log_->on_read) log_->on_read(log_->reads);
  if (failing_read && failing_read->first == log_->reads) {
    return {failing_read->second, {}, "the test's fault"};
  }
  if (lines_.empty()) return {when_empty, {}, {}};
  current_ = std::move(lines_.front());
  lines_.pop_front();
  return {LineRead::Kind::line, current_, {}};
}

bool ScriptedTransport::has_unread_message() {
  while (!lines_.empty() && protocol::is_noise(lines_.front())) lines_.pop_front();
  return !lines_.empty();
}

std::string ScriptedTransport::post_mortem() {
  ++log_->post_mortems;
  return last_words;
}

void ScriptedTransport::close(Ending ending) {
  if (!log_->closed) log_->closed = ending;
}

}  // namespace assay::support
