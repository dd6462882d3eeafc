// Options that several verbs share: their flags, and what the flags mean.
#pragma once

#include <optional>

#include "base/refusal.h"
#include "cli/program.h"
#include "engine/decode/session.h"

namespace assay::engine::app {

[[nodiscard]] cli::Flag model_flag();      // --model, -m
[[nodiscard]] cli::Flag threads_flag();    // --threads
[[nodiscard]] cli::Flag context_flag();    // --ctx
[[nodiscard]] cli::Flag mtp_depth_flag();  // --mtp-depth

/// 0 when the flag is not there. Values beyond an int become INT_MAX, which the backend refuses.
[[nodiscard]] int threads_of(const cli::Invocation& args);
[[nodiscard]] decode::SessionOptions session_options(const cli::Invocation& args);
/// DECODE-NO-DRAFT-HEAD for any depth but 0.
[[nodiscard]] std::optional<Refusal> refuse_drafting(const cli::Invocation& args);

}  // namespace assay::engine::app
