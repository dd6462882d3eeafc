// Any bytes as a judge's side of a session with an engine: framing and state machine answer every
// line that is not blank with exactly one legal response, and never stop.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/ensure.h"
#include "protocol/codec.h"
#include "protocol/line.h"
#include "worker/adapter.h"
#include "worker/mock.h"

using namespace assay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  worker::ContextMock engine(97);
  worker::Adapter adapter(engine, {.nonce = "k7", .speculative = size % 2 == 0, .steps_max = 1000});
  protocol::LineBuffer lines(size_t{1} << 16);
  std::string out;
  const auto answer = [&](std::string_view line) {
    if (protocol::is_blank(line)) return;
    out.clear();
    adapter.answer(line, out);
    ENSURE(out.find('\n') == out.size() - 1);
    const auto response = protocol::read_response(out);
    ENSURE(response && response->nonce == "k7");
    ENSURE(response->ok != response->error.has_value());
  };
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  while (true) {
    const auto line = lines.next();
    if (!line) return 0;  // too long: the session is over
    if (*line) {
      answer(**line);
      continue;
    }
    if (bytes.empty()) break;
    const auto room = lines.room();
    const size_t n = std::min({room.size(), bytes.size(), size_t{5}});
    std::memcpy(room.data(), bytes.data(), n);
    lines.filled(n);
    bytes.remove_prefix(n);
  }
  if (const auto rest = lines.rest()) answer(*rest);
  return 0;
}
