#include "engine/app/options.h"

#include <algorithm>
#include <climits>

#include "base/text.h"
#include "engine/app/refusals.h"

namespace assay::engine::app {

cli::Flag model_flag() {
  return {.names = {"--model", "-m"},
          .value_name = "MODEL",
          .help = "A GGUF file, the first shard of a set, or a folder with one model.",
          .required = true};
}

cli::Flag threads_flag() {
  return {.names = {"--threads"},
          .value_name = "N",
          .help = "Worker threads; by default every CPU the process may run on.",
          .type = cli::Type::u32};
}

cli::Flag context_flag() {
  return {.names = {"--ctx"},
          .value_name = "N",
          .help = "Context in tokens; by default the model's, at most 32768.",
          .type = cli::Type::u32};
}

cli::Flag mtp_depth_flag() {
  return {.names = {"--mtp-depth"},
          .value_name = "D",
          .help = "Tokens to draft ahead; 0 decodes serially."};
}

int threads_of(const cli::Invocation& args) {
  return static_cast<int>(
      std::min(args.u32("--threads").value_or(0), static_cast<uint32_t>(INT_MAX)));
}

decode::SessionOptions session_options(const cli::Invocation& args) {
  decode::SessionOptions options;
  options.n_ctx = args.u32("--ctx").value_or(0);
  return options;
}

std::optional<Refusal> refuse_drafting(const cli::Invocation& args) {
  const auto depths = args.text("--mtp-depth");
  if (!depths) return std::nullopt;
  for (const std::string_view depth : split(*depths, ',')) {
    if (depth == "0") continue;
    return Refusal(kNoDraftHead,
                   cat("--mtp-depth ", *depths, " was asked for; this model decodes serially"));
  }
  return std::nullopt;
}

}  // namespace assay::engine::app
