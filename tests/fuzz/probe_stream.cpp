// Any bytes as a chat completion stream: the same record whether they come at once or one by one,
// and figures that keep their promises.
#include <cstdint>
#include <string_view>

#include "base/ensure.h"
#include "base/text.h"
#include "load/accounting.h"
#include "load/chat_reader.h"
#include "load/sse.h"

using namespace assay;
using namespace assay::load;

namespace {

StreamRecord read(std::string_view bytes, size_t piece) {
  StreamRecord record;
  record.sent = record.started = Stamp{};
  record.streamed = true;
  record.http_status = 200;
  ChatReader chat(record);
  Stamp at{};
  SseReader sse([&](SseEvent&& event) {
    at += std::chrono::milliseconds(1);
    return chat.take(event, at);
  });
  bool more = true;
  while (more && !bytes.empty()) {
    const auto fed = sse.feed(bytes.substr(0, piece));
    more = fed && *fed;
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  chat.finish();
  record.ended = at;
  return record;
}

void expect_not_negative(const std::optional<double>& value) {
  ENSURE(!value || *value >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const StreamRecord whole = read(bytes, size + 1);
  const StreamRecord split = read(bytes, 1);
  ENSURE(whole.answer == split.answer && whole.reasoning == split.reasoning);
  ENSURE(whole.events == split.events && whole.deltas.size() == split.deltas.size());
  ENSURE(whole.ok() == split.ok() && whole.finish_reason == split.finish_reason);
  ENSURE(whole.usage.completion_tokens == split.usage.completion_tokens);
  ENSURE(is_utf8(whole.answer));
  const RunFigures figures = account(whole);
  for (const auto& value :
       {figures.ttft_s, figures.ttft_answer_s, figures.total_s, figures.cumulative_tok_s,
        figures.prefill_tok_s, figures.decode_tok_s}) {
    expect_not_negative(value);
  }
  ENSURE(figures.peak_output_tok_s.has_value() == figures.mean_output_tok_s.has_value());
  if (figures.peak_output_tok_s) {
    ENSURE(*figures.peak_output_tok_s >= *figures.mean_output_tok_s * (1 - 1e-9));
  }
  return 0;
}
