// Is the peer right on this machine? Asked before any of its figures is quoted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "bench/engine/llama_peer.h"

namespace assay::bench {

/// Refuses BENCH-PEER-WRONG when the greedy tokens leave the recorded reference other than at a
/// near tie (`oracle` empty: not asked), or when a batch of tokens.size() chooses, at one of its
/// first 64 positions, a token that is no near tie when the same tokens are fed one by one. Returns
/// one sentence for the record.
[[nodiscard]] Result<std::string> check_peer(LlamaPeer& peer, const std::filesystem::path& oracle,
                                             std::span<const int32_t> tokens);

}  // namespace assay::bench
