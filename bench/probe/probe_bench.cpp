// probe_bench [--requests N] [--widths 1,8]: the bias of the client's times.
//
// A child process is the server: the first token of an answer comes 3 ms after the request, 15 more
// follow at 1 ms. TTFT bias = what the client measured less what the server knows (first token
// written less request received): both ways over loopback, waking up, and reading. Gap bias = the
// client's gap between two tokens less the server's gap between writing them. Prints one JSON line
// a figure.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "load/accounting.h"
#include "load/http_client.h"
#include "load/stream.h"
#include "support/chat_model.h"

namespace {

using namespace assay;
using namespace std::chrono_literals;
using json::Value;

constexpr double kTargetMs = 0.15;
constexpr int kTokens = 16;

// The n-th request of the server, by the number in its question: when it came, when pieces went
// out.
struct Truth {
  int64_t received_ns = 0;
  std::vector<int64_t> sent_ns{};
};

int64_t number_of(const std::string& body) {
  const size_t at = body.find("number ");
  return at == std::string::npos ? -1 : std::strtol(body.c_str() + at + 7, nullptr, 10);
}

// Serves until it is killed; GET …/truth tells what happened.
[[noreturn]] void serve(int port_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  support::ScriptedServer* self = nullptr;
  support::ScriptedServer server([&self](const support::ReceivedRequest& request) {
    if (request.method == "POST") {
      return support::ChatModel::stream(
          {.words = 8, .max_tokens = kTokens},
          {.answer_tokens = kTokens, .first_pause = 3ms, .pause = 1ms});
    }
    const auto requests = self->requests();
    const auto sent = self->sent_at();
    std::vector<Value> rows;
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<Value> stamps;
      for (const auto& at : sent[i]) stamps.emplace_back(int64_t{at.count()});
      rows.push_back(Value::object({{"number", number_of(requests[i].body)},
                                    {"received", int64_t{requests[i].received_at.count()}},
                                    {"sent", Value::array(std::move(stamps))}}));
    }
    return support::Reply{.headers = {{"Content-Type", "application/json"}},
                          .pieces = {{json::write(Value::array(std::move(rows)))}},
                          .framing = support::Reply::Framing::content_length};
  });
  self = &server;
  const uint16_t port = server.port();
  if (write(port_pipe, &port, sizeof port) != sizeof port) _exit(1);
  for (;;) pause();
}

class Collector : public load::HttpSink {
 public:
  void head(load::HttpHead, load::Stamp) override {}
  bool body(std::string_view bytes, load::Stamp) override {
    text += bytes;
    return true;
  }
  std::string text{};
};

std::map<int64_t, Truth> fetch_truth(const load::Endpoint& endpoint) {
  Collector sink;
  const auto outcome = load::exchange(endpoint, {.target = "/truth"}, {}, {}, sink);
  std::map<int64_t, Truth> out;
  const auto rows = json::parse(sink.text);
  if (outcome.problem || !rows) return out;
  for (const Value& row : rows->items()) {
    Truth truth{.received_ns = *row.find("received")->as_int64("received"),
                .sent_ns = *row.find("sent")->as_int64s("sent")};
    out[*row.find("number")->as_int64("number")] = std::move(truth);
  }
  return out;
}

load::StreamRecord ask(const load::Endpoint& endpoint, int64_t number) {
  return load::stream_chat(
      endpoint,
      {.model = "fake",
       .messages = Value::array({Value::object(
           {{"role", "user"}, {"content", cat("number ", number, " of a row of questions")}})}),
       .max_tokens = kTokens},
      {}, {});
}

double quantile(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<size_t>(p * static_cast<double>(sorted.size() - 1) + 0.5)];
}

double share(const std::vector<double>& sorted, double bound) {
  const auto within = std::upper_bound(sorted.begin(), sorted.end(), bound) - sorted.begin();
  return static_cast<double>(within) / static_cast<double>(sorted.size());
}

void print(std::string_view figure, int width, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double p95 = quantile(values, 0.95);
  const auto number = [](double ms) { return Value::number(format_fixed(ms, 4)); };
  std::puts(json::write(Value::object({{"figure", figure},
                                       {"width", width},
                                       {"count", static_cast<int64_t>(values.size())},
                                       {"unit", "ms"},
                                       {"median", number(quantile(values, 0.5))},
                                       {"p95", number(p95)},
                                       {"p99", number(quantile(values, 0.99))},
                                       {"max", number(values.back())},
                                       {"target", kTargetMs},
                                       {"share_within_target", number(share(values, kTargetMs))},
                                       {"share_within_0.3", number(share(values, 0.3))}}))
                .c_str());
  std::fflush(stdout);
}

bool measure(const load::Endpoint& endpoint, int width, int requests, int64_t& next) {
  std::vector<load::StreamRecord> records;
  const int64_t first = next;
  while (next - first < requests) {
    std::vector<load::StreamRecord> batch(static_cast<size_t>(width));
    std::vector<std::thread> threads;
    std::latch start(width);
    for (int i = 0; i < width; ++i) {
      threads.emplace_back([&, i, number = next++] {
        start.arrive_and_wait();
        batch[static_cast<size_t>(i)] = ask(endpoint, number);
      });
    }
    for (std::thread& thread : threads) thread.join();
    records.insert(records.end(), batch.begin(), batch.end());
  }
  const auto truth = fetch_truth(endpoint);
  std::vector<double> ttft_bias, stamp_delay, gap_bias;
  for (size_t i = 0; i < records.size(); ++i) {
    const load::StreamRecord& record = records[i];
    const auto found = truth.find(first + static_cast<int64_t>(i));
    if (!record.ok() || found == truth.end() ||
        record.deltas.size() > found->second.sent_ns.size()) {
      return false;
    }
    const auto& sent = found->second.sent_ns;
    const auto figures = load::account(record);
    // The first piece is the role, the second the first token.
    ttft_bias.push_back(*figures.ttft_s * 1e3 -
                        static_cast<double>(sent[1] - found->second.received_ns) / 1e6);
    stamp_delay.push_back(static_cast<double>(record.deltas[1].at.count() - sent[1]) / 1e6);
    for (size_t k = 0; k < figures.chunk_gaps_s.size(); ++k) {
      gap_bias.push_back(std::abs(figures.chunk_gaps_s[k] * 1e3 -
                                  static_cast<double>(sent[k + 2] - sent[k + 1]) / 1e6));
    }
  }
  print("ttft_bias", width, std::move(ttft_bias));
  print("first_token_stamp_delay", width, std::move(stamp_delay));
  print("chunk_gap_error", width, std::move(gap_bias));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int requests = 400;
  std::string widths = "1,8";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--requests") == 0)
      requests = std::atoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--widths") == 0)
      widths = argv[i + 1];
    else {
      std::fprintf(stderr, "usage: probe_bench [--requests N] [--widths 1,8]\n");
      return 2;
    }
  }
  int ends[2];
  if (pipe(ends) != 0) return 3;
  const pid_t child = fork();
  if (child == 0) serve(ends[1]);
  uint16_t port = 0;
  if (read(ends[0], &port, sizeof port) != sizeof port) return 3;
  const auto endpoint = load::parse_endpoint(cat("http://127.0.0.1:", port, "/v1"));
  int64_t next = 0;
  bool good = true;
  for (int i = 0; i < 20; ++i) good = good && ask(*endpoint, next++).ok();  // both sides warm
  for (const std::string_view text : split(widths, ',')) {
    const auto width = parse_int64(text);
    good =
        good && width && *width > 0 && measure(*endpoint, static_cast<int>(*width), requests, next);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (!good) std::fprintf(stderr, "probe_bench: a request failed\n");
  return good ? 0 : 1;
}
