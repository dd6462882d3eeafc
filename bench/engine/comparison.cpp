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

// Tokens that are given, and the first position whose prediction counts.
struct Passage {
  std::vector<int32_t> tokens;
  size_t first = 0;
  std::vector<int32_t> reference;  // what near-exact arithmetic chose at each of them; may be empty
};

// Where the reference generated: prompt and continuation, predictions of the continuation.
std::vector<Passage> generated_passages(const std::vector<GreedyCase>& cases) {
  std::vector<Passage> passages;
  for (const GreedyCase& reference : cases) {
    Passage passage{reference.prompt_ids, reference.prompt_ids.size() - 1, reference.tokens};
    passage.tokens.insert(passage.tokens.end(), reference.tokens.begin(),
                          reference.tokens.end() - 1);
    passages.push_back(std::move(passage));
  }
  return passages;
}

struct Agreement {
  size_t positions = 0;
  size_t same = 0;
  size_t near_ties = 0;  // another token, within kNearTie of the best in the first one's row
  double gap_max = 0;

  [[nodiscard]] double share(size_t count) const {
    return static_cast<double>(count) / static_cast<double>(positions);
  }
};

// Rows of both for every token of the passage.
void count_agreement(const std::vector<float>& rows, const std::vector<float>& others,
                     const Passage& passage, Agreement& result) {
  ENSURE(rows.size() == others.size());
  const size_t n_vocab = rows.size() / passage.tokens.size();
  for (size_t i = passage.first; i < passage.tokens.size(); ++i) {
    const std::span<const float> row(rows.data() + i * n_vocab, n_vocab);
    const auto best = static_cast<size_t>(argmax(row));
    const auto other = static_cast<size_t>(argmax({others.data() + i * n_vocab, n_vocab}));
    const double gap = static_cast<double>(row[best]) - static_cast<double>(row[other]);
    ++result.positions;
    if (best == other) {
      ++result.same;
    } else if (gap <= kNearTie) {
      ++result.near_ties;
    }
    result.gap_max = std::max(result.gap_max, gap);
  }
}

// Positions at which the rows' best token is the one that near-exact arithmetic chose.
size_t same_as_reference(const std::vector<float>& rows, const Passage& passage) {
  const size_t n_vocab = rows.size() / passage.tokens.size();
  size_t same = 0;
  for (size_t i = 0; i < passage.reference.size(); ++i) {
    const std::span<const float> row(rows.data() + (passage.first + i) * n_vocab, n_vocab);
    if (argmax(row) == passage.reference[i]) ++same;
  }
  return same;
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
  // Its nearest to exact arithmetic, and itself another way: what it agrees with itself on is the
  // most that anybody can agree with it on.
  TRY(peer, LlamaPeer::load(*library, options.model,
                            {.flash_attention = false, .f32_cache = true, .n_ctx = kContext}));
  TRY(same_peer, LlamaPeer::load(*library, options.model, {.n_ctx = kContext}));
  TRY(ours, OurEngine::load(options.model, kContext));
  // One thread each: the peer's threads wait for one another by spinning, which crawls when the
  // machine has other work, and this comparison runs as a test too.
  TRY(tokens, text_tokens(*peer, options.text, options.prompt));
  TRY(said, check_peer(*peer, options.oracle, tokens));
  std::fprintf(stderr, "peer %s: %s\n", peer->variant().c_str(), said.c_str());

  std::vector<std::pair<std::string, std::vector<Passage>>> kinds;
  if (!options.oracle.empty()) {
    TRY(cases, read_greedy_cases(options.oracle));
    kinds.emplace_back("generated_text", generated_passages(cases));
  }
  kinds.emplace_back("given_text", std::vector<Passage>{{tokens, 0, {}}});
  double worst = 1.0;
  for (const auto& [kind, passages] : kinds) {
    Agreement with_ours;
    Agreement with_itself;
    size_t ours_right = 0, theirs_right = 0;
    for (const Passage& passage : passages) {
      TRY(theirs, peer->rows(passage.tokens, passage.tokens.size()));
      TRY(our_rows, ours->all_rows(passage.tokens));
      count_agreement(theirs, our_rows, passage, with_ours);
      TRY(again, same_peer->rows(passage.tokens, passage.tokens.size()));
      count_agreement(theirs, again, passage, with_itself);
      ours_right += same_as_reference(our_rows, passage);
      theirs_right += same_as_reference(theirs, passage);
    }
    json::Value line = json::Value::object();
    line.set("what", cat("top1_agreement_", kind));
    line.set("positions", static_cast<uint64_t>(with_ours.positions));
    line.set("agreement", with_ours.share(with_ours.same));
    line.set("agreement_or_near_tie", with_ours.share(with_ours.same + with_ours.near_ties));
    line.set("largest_gap", with_ours.gap_max);
    line.set("llama_cpp_with_itself", with_itself.share(with_itself.same));
    if (!passages[0].reference.empty()) {
      line.set("ours_with_near_exact", with_ours.share(ours_right));
      line.set("llama_cpp_with_near_exact", with_ours.share(theirs_right));
    }
    line.set("cpu", cpu_name());
    line.set("kernel_table", ours->variant());
    line.set("peer_variant", peer->variant());
    print_line(line);
    worst = std::min(worst, with_ours.share(with_ours.same + with_ours.near_ties));
  }
  if (worst < agreement_min) {
    return Refusal(kOursWrong, cat("top-1 agreement outside near ties is ", format_fixed(worst, 4),
                                   ", below ", format_fixed(agreement_min, 4)));
  }
  return {};
}

}  // namespace assay::bench
