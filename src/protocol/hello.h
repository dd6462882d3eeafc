// What a judge checks on the hello and on every later response, in the order that keeps the real
// cause visible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/message.h"

namespace assay::protocol {

/// The hello of an accepted engine. Everything in it is the engine's own word.
struct Hello {
  std::string nonce{};
  std::optional<std::string> backend{};
  std::optional<std::string> device{};
  std::vector<std::string> capabilities{};  // empty when not advertised
  std::vector<std::string> spec_modes{};    // empty when not advertised
  std::optional<HeadProvenance> head_provenance{};
  std::optional<uint32_t> max_batch_size{};
  std::optional<RunnerIdentity> runner{};
  std::optional<ResidentIdentity> resident{};
  std::optional<ExpertStats> expert_stats{};

  [[nodiscard]] bool has_capability(std::string_view capability) const;
};

/// In this order: id is 0; ok; nonce present, 1 to 256 bytes of printable ASCII;
/// protocol_version is 1. A hello with nothing else is good. Refuses PROTOCOL.
[[nodiscard]] Result<Hello> check_hello(const Response& response);

/// In this order: id -1 with ok false is the engine's own error text (ENGINE), before everything
/// else; the nonce (NONCE_MISMATCH); the id (PROTOCOL); ok (ENGINE, with the verb and the text).
/// `kind` is the request's verb.
[[nodiscard]] Status check_reply(const Response& response, int64_t id, std::string_view nonce,
                                 std::string_view kind);

/// Refuses CAPABILITY_NOT_ADVERTISED. Asked before anything is sent or timed.
[[nodiscard]] Status check_capability(const Hello& hello, std::string_view capability);
/// Refuses BATCH_WIDTH_EXCEEDS_ENGINE_MAX when the hello advertises a smaller maximum.
[[nodiscard]] Status check_batch_width(const Hello& hello, uint32_t batch_size);

}  // namespace assay::protocol
