// "A spec is never ignored": what a judge may ask for, and whether the echo honours it.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "protocol/message.h"

namespace assay::protocol {

/// {"mode":"serial"}.
[[nodiscard]] SpecConfig serial_spec();
/// {"mode":"mtp","mtp":{"depth":…}}; without depth the engine decides.
[[nodiscard]] SpecConfig mtp_spec(std::optional<uint32_t> depth);

/// True when the echoed spec is the requested one: same mode, the same blocks present, an explicit
/// mtp depth repeated, an open one reported, every key of an opaque block present with a subset
/// value (arrays and scalars: equal), and a dflash block that reports an unsigned 32-bit depth.
[[nodiscard]] bool honours(const SpecConfig& request, const std::optional<SpecConfig>& echo);

/// Only the block named like the mode may be present, and the mode must be one of the four names.
/// Refuses SPEC_MALFORMED.
[[nodiscard]] Status check_spec(const SpecConfig& spec);

/// Refuses SPEC_MODE_NOT_RUNNABLE when the mode is not `serial` and not among the hello's
/// `spec_modes`. Asked before the request is sent.
[[nodiscard]] Status check_spec_runnable(const SpecConfig& spec,
                                         std::span<const std::string> spec_modes);

/// Refuses SPEC_ECHO_DIVERGENCE unless honours(request, echo).
[[nodiscard]] Status check_spec_echo(const SpecConfig& request,
                                     const std::optional<SpecConfig>& echo);

/// Refuses BATCH_ECHO_DIVERGENCE when the echo differs from the width asked for, or is absent
/// although the verb requires it (free_decode_begin does, free_decode_run does not).
[[nodiscard]] Status check_batch_echo(uint32_t batch_size, const std::optional<uint32_t>& echo,
                                      bool echo_required);

}  // namespace assay::protocol
