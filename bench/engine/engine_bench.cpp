// Our engine against llama.cpp: speed, agreement, and the memory bandwidth that bounds decoding.
// Started by bench/run, which finds or fetches the model and the peer.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/engine/bandwidth.h"
#include "bench/engine/comparison.h"
#include "bench/engine/machine.h"

namespace assay::bench {
namespace {

Status print_bandwidth(const std::vector<int>& threads) {
  for (const int count : threads) {
    json::Value line = json::Value::object();
    line.set("what", "read_bandwidth");
    line.set("threads", count);
    line.set("bytes_per_s", read_bandwidth(count, 512, 12));
    line.set("cpu", cpu_name());
    print_line(line);
  }
  return {};
}

int run(int argc, char** argv) {
  ComparisonOptions options;
  options.text = "/usr/share/common-licenses/GPL-3";
  double agreement_min = 0.99;
  CLI::App app("Our engine against llama.cpp. bench/run starts this program.");
  app.require_subcommand(1);
  CLI::App* speed = app.add_subcommand("speed", "prefill and decode tokens a second, and ratios");
  CLI::App* agreement = app.add_subcommand("agreement", "teacher-forced top-1 agreement");
  CLI::App* bandwidth = app.add_subcommand("bandwidth", "memory read bandwidth");
  for (CLI::App* verb : {speed, agreement}) {
    verb->add_option("--model", options.model, "GGUF file")->required();
    verb->add_option("--peer", options.peer_folder, "folder with the peer's libraries")->required();
    verb->add_option("--text", options.text, "text whose tokens are fed");
    verb->add_option("--oracle", options.oracle, "recorded greedy tokens to check both by");
    verb->add_option("--prompt", options.prompt, "tokens")->check(CLI::Range(1, 512));
  }
  speed->add_option("--decode", options.decode, "tokens")->check(CLI::Range(1, 512));
  speed->add_option("--flash-attention", options.flash_attention, "the peer's; best: the faster")
      ->check(CLI::IsMember({"best", "on", "off"}));
  speed->add_option("--rounds", options.rounds, "timed rounds")->check(CLI::Range(1, 1000));
  speed->add_option("--figures", options.figures, "which figures")
      ->delimiter(',')
      ->check(CLI::IsMember({"prefill", "decode", "decode-after"}));
  agreement->add_option("--min", agreement_min, "smallest fraction that passes");
  for (CLI::App* verb : {speed, bandwidth}) {
    verb->add_option("--threads", options.threads, "thread counts")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
  }
  CLI11_PARSE(app, argc, argv);
  const Status status = speed->parsed()       ? compare_speed(options)
                        : agreement->parsed() ? compare_answers(options, agreement_min)
                                              : print_bandwidth(options.threads);
  if (!status) {
    std::fprintf(stderr, "engine_bench: %s\n", status.refusal().text().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  return assay::bench::run(argc, argv);
}
