// roundtrip_bench [--blocks N] [--trips N]: what the judge itself costs in a round trip.
//
// One decode step of an engine that computes nothing (assay-mock-engine, through World, Session and
// the real child process) against a bare pipe ping-pong of the same bytes, in turns of a few
// hundred trips in one process. Prints one JSON line; the target is ratio <= 1.25.
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "protocol/codec.h"
#include "protocol/verb.h"
#include "roundtrip/bare_pipe.h"
#include "runner/leg.h"
#include "runner/refusals.h"
#include "runner/wait.h"
#include "runner/world.h"

namespace {

using namespace assay;
using runner::Duration;

struct Sizes {
  int blocks = 60;
  int trips = 500;  // a block, of each kind
};

double microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

/// The p-quantile of sorted values, by nearest rank.
double quantile(const std::vector<double>& sorted, double p) {
  const auto rank = static_cast<size_t>(p * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[rank];
}

/// Times `trip` n times, each on its own; appends microseconds. False when a trip failed.
bool time_trips(int n, const std::function<bool()>& trip, std::vector<double>& out) {
  for (int i = 0; i < n; ++i) {
    const auto start = runner::monotonic_now();
    if (!trip()) return false;
    out.push_back(microseconds(runner::monotonic_now() - start));
  }
  return true;
}

/// Bytes of one decode step and its answer, LF included, for an id of five digits (most ids of a
/// run).
std::pair<size_t, size_t> wire_sizes(const std::string& nonce) {
  protocol::Request request;
  request.id = 10000;
  request.kind = protocol::verb_name(protocol::Verb::decode_step);
  request.token = 200003;
  protocol::Response response;
  response.id = request.id;
  response.nonce = nonce;
  response.ok = true;
  response.token = 200004;
  return {protocol::write_request(request).size() + 1,
          protocol::write_response(response).size() + 1};
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

/// Pins this thread, and what it starts from now on.
void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

Status measure(const std::filesystem::path& programs, const Sizes& sizes, std::string_view name,
               int judge_cpu, int child_cpu) {
  const auto world = runner::make_real_world();
  pin_to(child_cpu);
  runner::WorkerCommand command;
  command.executable = programs / "bin" / "assay-mock-engine";
  command.weights = "none";
  TRY(worker, runner::open_worker(*world, command));
  runner::Session& session = worker.session;
  const auto [request_size, answer_size] = wire_sizes(session.hello().nonce);
  bench::BarePipe bare((programs / "bench" / "pingpong_child").string(), request_size, answer_size);
  pin_to(judge_cpu);

  TRY(seed_token, session.decode_begin(std::vector<int64_t>{1, 2, 3}, std::nullopt));
  const Duration patience = std::chrono::seconds(600);
  session.arm(world->deadline_after(patience), patience);
  std::optional<Refusal> fault;
  const auto judge_trip = [&] {
    auto token = session.decode_step(seed_token);
    if (!token) fault = std::move(token).refusal();
    return !fault;
  };
  const auto bare_trip = [&] { return bare.round_trip(); };

  std::vector<double> judge_us, bare_us;
  for (int block = -1; block < sizes.blocks; ++block) {
    std::vector<double> judge_block, bare_block;
    // The order changes from block to block, so that a drift of the machine hits both alike.
    const bool judge_first = block % 2 == 0;
    const bool good = judge_first ? time_trips(sizes.trips, judge_trip, judge_block) &&
                                        time_trips(sizes.trips, bare_trip, bare_block)
                                  : time_trips(sizes.trips, bare_trip, bare_block) &&
                                        time_trips(sizes.trips, judge_trip, judge_block);
    if (fault) return *std::move(fault);
    if (!good) return Refusal(runner::kIo, "the trivial child ended");
    if (block < 0) continue;  // warm-up
    judge_us.insert(judge_us.end(), judge_block.begin(), judge_block.end());
    bare_us.insert(bare_us.end(), bare_block.begin(), bare_block.end());
  }
  std::sort(judge_us.begin(), judge_us.end());
  std::sort(bare_us.begin(), bare_us.end());
  const double judge_p50 = quantile(judge_us, 0.5), bare_p50 = quantile(bare_us, 0.5);
  std::printf("%s\n", json::write(json::Value::object({
                                      {"name", name},
                                      {"judge_us", judge_p50},
                                      {"bare_us", bare_p50},
                                      {"ratio", judge_p50 / bare_p50},
                                      {"judge_us_p95", quantile(judge_us, 0.95)},
                                      {"bare_us_p95", quantile(bare_us, 0.95)},
                                      {"trips", static_cast<int64_t>(judge_us.size())},
                                      {"request_bytes", static_cast<int64_t>(request_size)},
                                      {"response_bytes", static_cast<int64_t>(answer_size)},
                                      {"target_ratio_max", 1.25},
                                  }))
                          .c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = parse_int64(argv[i + 1]);
    if (value && *value > 0 && std::strcmp(argv[i], "--blocks") == 0) {
      sizes.blocks = static_cast<int>(*value);
    } else if (value && *value > 0 && std::strcmp(argv[i], "--trips") == 0) {
      sizes.trips = static_cast<int>(*value);
    } else {
      std::fprintf(stderr, "usage: roundtrip_bench [--blocks N] [--trips N]\n");
      return 2;
    }
  }
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto programs = self.parent_path().parent_path();
  const runner::InterruptGuard guard;

  const auto cpus = allowed_cpus();
  auto status =
      cpus.size() < 2 ? Status() : measure(programs, sizes, "judge_roundtrip", cpus[0], cpus[1]);
  if (cpus.size() < 2)
    std::fprintf(stderr, "roundtrip_bench: one CPU: two of them are not measured\n");
  if (status) status = measure(programs, sizes, "judge_roundtrip_one_cpu", cpus[0], cpus[0]);
  if (!status) {
    std::fprintf(stderr, "roundtrip_bench: %s\n", status.refusal().text().c_str());
    return 1;
  }
  return 0;
}
