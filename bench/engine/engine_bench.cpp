// Our engine against llama.cpp: speed, agreement, and the memory bandwidth that bounds decoding.
// Started by bench/run, which finds or fetches the model and the peer. One JSON line per figure.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "bench/engine/bandwidth.h"
#include "bench/engine/llama_peer.h"
#include "bench/engine/machine.h"
#include "bench/engine/measure.h"
#include "bench/engine/peer_checks.h"
#include "bench/engine/refusals.h"
#include "bench/engine/statistics.h"

namespace assay::bench {
namespace {

struct Options {
  std::string model;
  std::string peer_folder;
  std::string text = "/usr/share/common-licenses/GPL-3";
  std::string oracle;
  std::vector<int> threads = {1, 2};
  int rounds = 6;
  int prompt = 512;
  int decode = 128;
};

void print_line(const json::Value& value) {
  std::printf("%s\n", json::write(value).c_str());
  std::fflush(stdout);
}

Result<std::vector<int32_t>> text_tokens(const LlamaPeer& peer, const Options& options) {
  TRY(text, read_file(options.text));
  std::vector<int32_t> tokens = peer.tokenize(text, false);
  const size_t needed = static_cast<size_t>(options.prompt + options.decode);
  if (tokens.size() < needed) {
    return Refusal(kTextTooShort,
                   cat(options.text, " has ", tokens.size(), " tokens, ", needed, " are needed"));
  }
  tokens.resize(needed);
  return tokens;
}

// The peer with flash attention on or off, whichever does this slice faster: two tries of each.
Result<size_t> faster(const std::vector<std::unique_ptr<LlamaPeer>>& peers, const Slice& slice) {
  std::vector<Contender*> contenders;
  for (const auto& peer : peers) contenders.push_back(peer.get());
  TRY(seconds, interleave(contenders, slice, 2));
  size_t best = 0;
  for (size_t i = 1; i < seconds.size(); ++i) {
    if (spread(seconds[i]).median < spread(seconds[best]).median) best = i;
  }
  return best;
}

Status run_peer(const Options& options) {
  TRY(library, LlamaLibrary::open(options.peer_folder));
  std::vector<std::unique_ptr<LlamaPeer>> peers;
  for (const bool flash : {true, false}) {
    TRY(peer, LlamaPeer::load(*library, options.model, {.flash_attention = flash}));
    peers.push_back(std::move(peer));
  }
  TRY(tokens, text_tokens(*peers[0], options));
  const std::span<const int32_t> all(tokens);
  const auto prompt = all.first(static_cast<size_t>(options.prompt));
  const auto rest = all.subspan(prompt.size());
  for (const auto& peer : peers) {
    TRY(said, check_peer(*peer, options.oracle, prompt));
    std::fprintf(stderr, "peer %s: %s\n", peer->variant().c_str(), said.c_str());
  }
  const std::vector<Slice> slices = {
      {cat("prefill_", options.prompt), {}, prompt, false},
      {cat("decode_", options.decode), {}, rest, true},
      {cat("decode_", options.decode, "_after_", options.prompt), prompt, rest, true}};
  for (const int threads : options.threads) {
    for (const auto& peer : peers) TRY_DO(peer->set_threads(threads));
    for (const Slice& slice : slices) {
      TRY(best, faster(peers, slice));
      TRY(seconds, interleave({peers[best].get()}, slice, options.rounds));
      const double count = static_cast<double>(slice.timed.size());
      const Spread s = spread(seconds[0]);
      json::Value line = json::Value::object();
      line.set("what", slice.what);
      line.set("threads", threads);
      line.set("llama_cpp_tok_s", count / s.median);
      line.set("low", count / s.high);
      line.set("high", count / s.low);
      line.set("cpu", cpu_name());
      line.set("peer_variant", peers[best]->variant());
      print_line(line);
    }
  }
  return {};
}

Status run_bandwidth(const Options& options) {
  for (const int threads : options.threads) {
    json::Value line = json::Value::object();
    line.set("what", "read_bandwidth");
    line.set("threads", threads);
    line.set("bytes_per_s", read_bandwidth(threads, 512, 12));
    line.set("cpu", cpu_name());
    print_line(line);
  }
  return {};
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay;
  bench::Options options;
  CLI::App app("Our engine against llama.cpp. bench/run starts this program.");
  app.require_subcommand(1);
  CLI::App* peer = app.add_subcommand("peer", "the peer alone: prefill and decode tokens a second");
  CLI::App* bandwidth = app.add_subcommand("bandwidth", "memory read bandwidth");
  for (CLI::App* verb : {peer}) {
    verb->add_option("--model", options.model, "GGUF file")->required();
    verb->add_option("--peer", options.peer_folder, "folder with the peer's libraries")->required();
    verb->add_option("--text", options.text, "text whose tokens are fed");
    verb->add_option("--oracle", options.oracle, "recorded greedy tokens to check the peer by");
    verb->add_option("--rounds", options.rounds, "timed rounds")->check(CLI::Range(1, 1000));
    verb->add_option("--prompt", options.prompt)->check(CLI::Range(1, 512));
    verb->add_option("--decode", options.decode)->check(CLI::Range(1, 512));
  }
  for (CLI::App* verb : {peer, bandwidth}) {
    verb->add_option("--threads", options.threads, "thread counts")->delimiter(',');
  }
  CLI11_PARSE(app, argc, argv);
  const Status status = peer->parsed() ? bench::run_peer(options) : bench::run_bandwidth(options);
  if (!status) {
    std::fprintf(stderr, "engine_bench: %s\n", status.refusal().text().c_str());
    return 1;
  }
  return 0;
}
