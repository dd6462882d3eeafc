#include "bench/engine/comparison.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "bench/engine/bandwidth.h"
#include "bench/engine/checks.h"
#include "bench/engine/llama_peer.h"
#include "bench/engine/machine.h"
#include "bench/engine/measure.h"
#include "bench/engine/our_engine.h"
#include "bench/engine/refusals.h"
#include "bench/engine/statistics.h"

namespace assay::bench {
namespace {

constexpr int kContext = 1024;
constexpr int kBandwidthMib = 512;
constexpr int kBandwidthPasses = 8;

using Peers = std::vector<std::unique_ptr<LlamaPeer>>;

Result<std::vector<int32_t>> text_tokens(const LlamaPeer& peer, const std::filesystem::path& path,
                                         int needed) {
  TRY(text, read_file(path));
  std::vector<int32_t> tokens = peer.tokenize(text, false);
  if (tokens.size() < static_cast<size_t>(needed)) {
    return Refusal(kTextTooShort,
                   cat(path.string(), " has ", tokens.size(), " tokens, ", needed, " are needed"));
  }
  tokens.resize(static_cast<size_t>(needed));
  return tokens;
}

Status check_ours(OurEngine& ours, const std::filesystem::path& oracle) {
  if (oracle.empty()) return {};
  TRY(cases, read_greedy_cases(oracle));
  TRY(report, check_greedy(ours, cases));
  if (!report.wrong.empty()) {
    return Refusal(kOursWrong, cat("greedy tokens leave the reference at ", report.wrong));
  }
  std::fprintf(stderr, "ours %s: greedy tokens: %d of %d prompts exact, %d left at a near tie\n",
               ours.variant().c_str(), report.exact, report.cases, report.near_ties);
  return {};
}

// The peer is given what helps it: the faster of flash attention on and off, one try of each after
// a first one.
Result<LlamaPeer*> faster_peer(const Peers& peers, const Slice& slice) {
  if (peers.size() == 1) return peers[0].get();
  std::vector<Contender*> contenders;
  for (const auto& peer : peers) contenders.push_back(peer.get());
  TRY(seconds, interleave(contenders, slice, 1));
  size_t best = 0;
  for (size_t i = 1; i < seconds.size(); ++i) {
    if (spread(seconds[i]).median < spread(seconds[best]).median) best = i;
  }
  return peers[best].get();
}

int all_cpus() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Result<json::Value> speed_line(OurEngine& ours, LlamaPeer& peer, const Slice& slice, int threads,
                               int rounds) {
  TRY(seconds, interleave({&ours, &peer}, slice, rounds));
  std::vector<double> ratios;
  for (size_t i = 0; i < seconds[0].size(); ++i) ratios.push_back(seconds[1][i] / seconds[0][i]);
  const Spread ratio = spread(ratios);
  const double count = static_cast<double>(slice.timed.size());
  json::Value line = json::Value::object();
  line.set("what", slice.what);
  line.set("threads", threads);
  line.set("ours_tok_s", count / spread(seconds[0]).median);
  line.set("llama_cpp_tok_s", count / spread(seconds[1]).median);
  line.set("ratio", ratio.median);
  line.set("ratio_low", ratio.low);
  line.set("ratio_high", ratio.high);
  line.set("rounds", rounds);
  line.set("cpu", cpu_name());
  line.set("kernel_table", ours.variant());
  line.set("peer_variant", peer.variant());
  return line;
}

// Decoding reads every weight once a token: how near is it to what memory allows?
void add_limit(json::Value& line, const OurEngine& ours, int threads) {
  const double bandwidth = read_bandwidth(threads, kBandwidthMib, kBandwidthPasses);
  const uint64_t bytes = ours.weight_bytes_per_token();
  const double limit = bandwidth / static_cast<double>(bytes);
  const auto tok_s = line.find("ours_tok_s")->as_double("ours_tok_s");
  line.set("weight_bytes_per_token", bytes);
  line.set("read_bandwidth_bytes_per_s", bandwidth);
  line.set("of_bandwidth_limit", *tok_s / limit);
}

}  // namespace

void print_line(const json::Value& value) {
  std::printf("%s\n", json::write(value).c_str());
  std::fflush(stdout);
}

Status compare_speed(const ComparisonOptions& options) {
  TRY(library, LlamaLibrary::open(options.peer_folder));
  Peers peers;
  for (const bool flash : {true, false}) {
    if (options.flash_attention == (flash ? "off" : "on")) continue;
    TRY(peer,
        LlamaPeer::load(*library, options.model, {.flash_attention = flash, .n_ctx = kContext}));
    peers.push_back(std::move(peer));
  }
  TRY(tokens, text_tokens(*peers[0], options.text, options.prompt + options.decode));
  const std::span<const int32_t> all(tokens);
  const auto prompt = all.first(static_cast<size_t>(options.prompt));
  const auto rest = all.subspan(prompt.size());
  for (const auto& peer : peers) {
    TRY_DO(peer->set_threads(all_cpus()));
    TRY(said, check_peer(*peer, options.oracle, prompt));
    std::fprintf(stderr, "peer %s: %s\n", peer->variant().c_str(), said.c_str());
  }
  TRY(ours, OurEngine::load(options.model, kContext));
  TRY_DO(ours->set_threads(all_cpus()));
  TRY_DO(check_ours(*ours, options.oracle));

  std::vector<Slice> slices;
  for (const std::string& figure : options.figures) {
    if (figure == "prefill") slices.push_back({cat("prefill_", prompt.size()), {}, prompt, false});
    if (figure == "decode") slices.push_back({cat("decode_", rest.size()), {}, rest, true});
    if (figure == "decode-after") {
      slices.push_back({cat("decode_", rest.size(), "_after_", prompt.size()), prompt, rest, true});
    }
  }
  for (const int threads : options.threads) {
    for (const auto& peer : peers) TRY_DO(peer->set_threads(threads));
    TRY_DO(ours->set_threads(threads));
    for (const Slice& slice : slices) {
      TRY(peer, faster_peer(peers, slice));
      TRY(line, speed_line(*ours, *peer, slice, threads, options.rounds));
      if (slice.one_by_one) add_limit(line, *ours, threads);
      print_line(line);
    }
  }
  return {};
}

Status compare_answers(const ComparisonOptions& options, double agreement_min) {
  TRY(library, LlamaLibrary::open(options.peer_folder));
  TRY(peer, LlamaPeer::load(*library, options.model,
                            {.flash_attention = false, .f32_cache = true, .n_ctx = kContext}));
  TRY(tokens, text_tokens(*peer, options.text, options.prompt));
  TRY_DO(peer->set_threads(all_cpus()));
  TRY(said, check_peer(*peer, options.oracle, tokens));
  std::fprintf(stderr, "peer %s: %s\n", peer->variant().c_str(), said.c_str());
  TRY(theirs, peer->rows(tokens, tokens.size()));
  TRY(ours, OurEngine::load(options.model, kContext));
  TRY_DO(ours->set_threads(all_cpus()));
  TRY(rows, ours->all_rows(tokens));
  ENSURE(rows.size() == theirs.size());

  const size_t n_vocab = static_cast<size_t>(peer->n_vocab());
  size_t same = 0;
  float gap_max = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::span<const float> their_row(theirs.data() + i * n_vocab, n_vocab);
    const auto our_best = static_cast<size_t>(argmax({rows.data() + i * n_vocab, n_vocab}));
    const auto their_best = static_cast<size_t>(argmax(their_row));
    if (our_best == their_best) ++same;
    gap_max = std::max(gap_max, their_row[their_best] - their_row[our_best]);
  }
  const double agreement = static_cast<double>(same) / static_cast<double>(tokens.size());
  json::Value line = json::Value::object();
  line.set("what", "top1_agreement");
  line.set("positions", static_cast<uint64_t>(tokens.size()));
  line.set("agreement", agreement);
  line.set("largest_gap", static_cast<double>(gap_max));
  line.set("cpu", cpu_name());
  line.set("kernel_table", ours->variant());
  line.set("peer_variant", peer->variant());
  print_line(line);
  if (agreement < agreement_min) {
    return Refusal(kOursWrong, cat("top-1 agreement is ", format_fixed(agreement, 4), ", below ",
                                   format_fixed(agreement_min, 4)));
  }
  return {};
}

}  // namespace assay::bench
