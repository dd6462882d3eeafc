// lying_engine: an engine that is honest until its lie. Raw wire, no SDK, so that a judge's test
// does not lean on the code it is about.
//
//   ASSAY_LIE=NAME[@KIND] lying_engine runtime-worker --weights PATH …
//   or a weights path whose last part is lie-NAME[@KIND], where no variable can be passed.
//
// The lie is told at the first request, or at the first request of KIND. Honest tokens: prefill and
// correctness_begin 100000+|prompt|, decode openers 200000+|seed|, then one more each time.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

std::string lie;
std::string lie_kind;
bool told = false;

void put(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count <= 0) _exit(0);
    done += static_cast<size_t>(count);
  }
}

[[noreturn]] void hang() {
  for (;;) pause();
}

void nap_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

int64_t number_after(const std::string& line, const std::string& key) {
  const size_t at = line.find(key);
  return at == std::string::npos ? 0 : std::strtoll(line.c_str() + at + key.size(), nullptr, 10);
}

std::string text_after(const std::string& line, const std::string& key) {
  const size_t at = line.find(key);
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

int64_t item_count(const std::string& line, const std::string& key) {
  const size_t at = line.find(key);
  if (at == std::string::npos) return 0;
  int64_t count = 1;
  for (size_t i = at + key.size(); i < line.size() && line[i] != ']'; ++i) count += line[i] == ',';
  return count;
}

/// The value of "spec":{…}, braces counted.
std::string spec_of(const std::string& line) {
  const std::string key = "\"spec\":";
  const size_t at = line.find(key);
  if (at == std::string::npos) return "";
  int depth = 0;
  for (size_t i = at + key.size(); i < line.size(); ++i) {
    if (line[i] == '{') ++depth;
    if (line[i] == '}' && --depth == 0) {
      return line.substr(at + key.size(), i + 1 - at - key.size());
    }
  }
  return "";
}

const std::string kStats =
    R"("expert_stats":{"expert_cache_hits":0,"expert_cache_misses":0,"expert_cache_evictions":0,)"
    R"("expert_bytes_read":0,"expert_read_seconds":0.0,"expert_peak_cached_tensors":0})";

struct Engine {
  int64_t work = 0;
  int64_t last = 0;

  std::string logits(int64_t token, int count) const {
    std::string out = "\"top_logits\":[";
    for (int i = 0; i < count; ++i) {
      if (i > 0) out += ',';
      out += "{\"token\":" + std::to_string(token + i) + ",\"logit\":" + std::to_string(10 - i) +
             ".0}";
    }
    return out + "]";
  }

  /// The members behind id, nonce and ok.
  std::string body(const std::string& line, const std::string& kind, bool lying) {
    const int64_t skew = lying && lie == "wrong-token" ? 1 : 0;
    const auto is = [&](const char* name) { return lying && lie == name; };
    const std::string spec = spec_of(line);
    if (kind == "prefill") {
      work = 0;
      if (is("deferred-prefill"))
        return "\"token\":" + std::to_string(100000 + item_count(line, "\"prompt_tokens\":["));
      return "\"token\":" + std::to_string(100000 + item_count(line, "\"prompt_tokens\":[") + skew);
    }
    if (kind == "decode_begin" || kind == "free_decode_begin") {
      work = 1;
      last = 200000 + item_count(line, "\"seed_tokens\":[");
      std::string out = "\"seed_token\":" + std::to_string(last + skew);
      if (is("spec-echo-dropped")) return out;
      if (is("spec-echo-diverged")) {
        return out + R"(,"effective_spec":{"mode":"mtp","mtp":{"depth":6}})";
      }
      return out + ",\"effective_spec\":" + (spec.empty() ? R"({"mode":"serial"})" : spec);
    }
    if (kind == "decode_step" || kind == "correctness_step") {
      ++work;
      const int64_t token = number_after(line, "\"token\":") + 1 + skew;
      std::string out = "\"token\":" + std::to_string(token);
      if (kind == "correctness_step") {
        out += "," +
               logits(token, is("logits-7")   ? 7
                             : is("logits-9") ? 9
                                              : 8) +
               "," + kStats + ",\"peak_ram_gb\":18.5";
      }
      return out;
    }
    if (kind == "correctness_begin") {
      work = 1;
      const int64_t token = 100000 + item_count(line, "\"prompt_tokens\":[") + skew;
      return "\"token\":" + std::to_string(token) + "," +
             logits(token, is("logits-7")   ? 7
                           : is("logits-9") ? 9
                                            : 8) +
             "," + kStats + ",\"peak_ram_gb\":18.5";
    }
    if (kind == "correctness") {
      work = 0;
      std::string out = "\"tokens\":[";
      const int64_t steps = number_after(line, "\"steps\":");
      for (int64_t i = 0; i < steps; ++i) {
        out += (i > 0 ? "," : "") + std::to_string(100000 + i + skew);
      }
      return out + "],\"peak_ram_gb\":18.5";
    }
    if (kind == "free_decode_run") {
      const int64_t count = number_after(line, "\"count\":");
      const int64_t given = is("one-token-less") ? count - 1 : count;
      std::string tokens, lengths;
      for (int64_t i = 0; i < given; ++i) {
        const bool seed_again = is("reemit-seed") && i == 0;
        if (!seed_again) ++last;
        tokens += (i > 0 ? "," : "") + std::to_string(last + skew);
      }
      for (int64_t i = 0; i < count; ++i) lengths += i > 0 ? ",1" : "1";
      work += count;
      if (is("no-counters")) return "\"tokens\":[" + tokens + "]";
      return "\"tokens\":[" + tokens + "],\"acceptance_lengths\":[" + lengths +
             "],\"drafted_total\":0,\"accepted_total\":0,\"committed_total\":" +
             std::to_string(count + (is("committed-plus-1") ? 1 : 0));
    }
    // phase_diagnostics
    int64_t reported = work;
    work = 0;
    if (is("counter-plus-1")) ++reported;
    if (is("counter-minus-1")) --reported;
    std::string out = kStats + ",\"peak_ram_gb\":18.5";
    if (!is("counter-omitted")) out += ",\"completed_work\":" + std::to_string(reported);
    if (!is("cache-omitted"))
      out += ",\"cache_memory\":" + std::string(is("cache-4096") ? "4096" : "0");
    return out;
  }
};

[[noreturn]] void flood_stdout() {
  const std::string block(1 << 16, 'x');
  for (;;) put(1, lie == "flood-stdout" ? "{" + block : block);
}

/// Leaves a process behind that holds our pipes open.
void leave_grandchild(bool own_session) {
  const pid_t pid = fork();
  if (pid != 0) return;
  if (own_session) setsid();
  signal(SIGTERM, SIG_IGN);
  hang();
}

/// Lies that need no response of their own; returns when the honest answer should follow.
void act(const std::string& honest) {
  if (lie == "exit3") {
    put(2, "fatal: out of memory in /home/someone/engine/src/alloc.cpp\n");
    _exit(3);
  }
  if (lie == "exit0") _exit(0);
  if (lie == "signal9") kill(getpid(), SIGKILL);
  if (lie == "segv") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (lie == "close-stdout-speak") {
    close(1);
    put(2, "the last words of the engine\n");
    _exit(4);
  }
  if (lie == "close-stdout-hang") {
    close(1);
    hang();
  }
  if (lie == "hang") hang();
  if (lie == "ignore-term-hang") {
    signal(SIGTERM, SIG_IGN);
    hang();
  }
  if (lie == "flood-stdout" || lie == "flood-stdout-noise") flood_stdout();
  if (lie == "flood-stderr") {
    for (int i = 0; i < 64; ++i) put(2, std::string(1 << 16, 'e'));  // 4 MiB without LF
    put(2, "\nthe words after the flood\n");
  }
  if (lie == "stderr-secret") {
    put(2,
        "API_TOKEN=hunter2 rest of the line\nexpected 17 but got 18\n/home/u/x/model.gguf "
        "missing\n");
    _exit(5);
  }
  if (lie == "late") nap_ms(3000);
  if (lie == "slow-50ms") nap_ms(50);
  if (lie == "noise") put(1, "loading weights\n\n[1,2]\n   \t\r\n\xEF\xBB\xBF{\"id\":1}\n");
  if (lie == "noise-drip") {
    for (;;) {
      put(1, "still working\n");
      nap_ms(5);
    }
  }
  if (lie == "noise-flood") {
    for (;;) put(1, "still working\n");
  }
  if (lie == "truncated-json") {
    put(1, honest.substr(0, honest.size() / 2));
    _exit(0);
  }
  if (lie == "truncated-json-live") {
    put(1, honest.substr(0, honest.size() / 2) + "\n");
    hang();
  }
  if (lie == "grandchild" || lie == "grandchild-exit") leave_grandchild(false);
  if (lie == "daemon" || lie == "daemon-exit") leave_grandchild(true);
  if (lie == "grandchild-exit" || lie == "daemon-exit") {
    put(2, "leaving a child behind\n");
    _exit(0);
  }
}

std::string hello_line() {
  const auto is = [](const char* name) { return lie == name; };
  std::string out = "{\"id\":";
  out += is("hello-id") ? "1" : "0";
  if (!is("hello-nonce-missing"))
    out += is("hello-nonce-empty") ? ",\"nonce\":\"\"" : ",\"nonce\":\"n0\"";
  out += is("hello-not-ok") ? ",\"ok\":false,\"error\":\"no weights here\"" : ",\"ok\":true";
  if (!is("hello-version-missing"))
    out += is("hello-version-2") ? ",\"protocol_version\":2" : ",\"protocol_version\":1";
  if (is("hello-minimal")) return out + "}";
  out += ",\"backend\":\"liar\",\"device\":\"none\"";
  if (!is("no-capability")) out += ",\"capabilities\":[\"free_run_decode\"]";
  out += is("no-mtp") ? ",\"spec_modes\":[\"serial\"]" : ",\"spec_modes\":[\"serial\",\"mtp\"]";
  if (is("hello-unknown-key")) out += ",\"speed\":\"very fast\"";
  return out + "}";
}

void read_lie(int argc, char** argv) {
  std::string text;
  if (const char* variable = getenv("ASSAY_LIE"); variable != nullptr) text = variable;
  for (int i = 1; text.empty() && i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--weights") != 0) continue;
    const std::string name = std::filesystem::path(argv[i + 1]).filename().string();
    if (name.rfind("lie-", 0) == 0) text = name.substr(4);
  }
  const size_t at = text.find('@');
  lie = text.substr(0, at);
  if (at != std::string::npos) lie_kind = text.substr(at + 1);
}

/// Facts about the process that a test asks for, on stderr.
void report(int argc, char** argv) {
  if (lie == "show-environment") {
    for (char** entry = environ; *entry != nullptr; ++entry)
      put(2, std::string("env ") + *entry + "\n");
  }
  if (lie == "show-descriptors") {
    for (int fd = 0; fd < 4096; ++fd) {
      if (fcntl(fd, F_GETFD) >= 0) put(2, "fd " + std::to_string(fd) + "\n");
    }
  }
  if (lie == "show-arguments") {
    for (int i = 1; i < argc; ++i) put(2, std::string("arg ") + argv[i] + "\n");
  }
  if (lie == "show-process") {
    int death_signal = 0;
    prctl(PR_GET_PDEATHSIG, &death_signal);
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, nullptr, &blocked);
    struct sigaction pipe_action {};
    sigaction(SIGPIPE, nullptr, &pipe_action);
    put(2, "leads-session " + std::to_string(getsid(0) == getpid()) + "\n");
    put(2, "leads-group " + std::to_string(getpgrp() == getpid()) + "\n");
    put(2, "death-signal " + std::to_string(death_signal) + "\n");
    put(2, "int-blocked " + std::to_string(sigismember(&blocked, SIGINT)) + "\n");
    put(2, "pipe-default " + std::to_string(pipe_action.sa_handler == SIG_DFL) + "\n");
    put(2, "folder " + std::filesystem::current_path().filename().string() + "\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  read_lie(argc, argv);
  report(argc, argv);
  if (lie == "hello-hang") hang();
  if (lie == "hello-exit3") _exit(3);
  if (lie == "hello-flood") flood_stdout();
  const std::string hello = hello_line();
  if (lie == "hello-truncated") {
    put(1, hello.substr(0, hello.size() / 2));
    _exit(0);
  }
  put(1, hello + "\n");
  if (lie == "hello-twice") put(1, hello + "\n");
  if (lie == "never-reads") hang();
  if (lie == "deaf") {  // closes its input, and stays
    close(0);
    hang();
  }

  Engine engine;
  std::string pending;
  char buffer[65536];
  for (;;) {
    const size_t newline = pending.find('\n');
    if (newline == std::string::npos) {
      const ssize_t count = read(0, buffer, sizeof buffer);
      if (count <= 0) break;
      pending.append(buffer, static_cast<size_t>(count));
      continue;
    }
    const std::string line = pending.substr(0, newline);
    pending.erase(0, newline + 1);
    const std::string kind = text_after(line, "\"kind\":\"");
    const bool lying = !told && (lie_kind.empty() || lie_kind == kind);
    // Lies about time are told every time, all others once.
    const bool lasting = lie == "deferred-prefill" || lie == "front-load";
    if (lying && !lasting) told = true;

    int64_t id = number_after(line, "\"id\":");
    std::string nonce = "n0";
    if (lying && lie == "wrong-id") ++id;
    if (lying && lie == "wrong-nonce") nonce = "n0-WRONG";
    std::string answer = "{\"id\":" + std::to_string(id) + ",\"nonce\":\"" + nonce + "\",";
    if (lying && lie == "not-ok") {
      answer += "\"ok\":false,\"error\":\"kernel launch failed in /home/u/x/y.cu\"}";
    } else if (lying && lie == "id-minus-one") {
      answer = "{\"id\":-1,\"nonce\":\"other\",\"ok\":false,\"error\":\"cannot parse\"}";
    } else {
      answer += "\"ok\":true," + engine.body(line, kind, lying);
      if (lying && lie == "unknown-key") answer += ",\"tok_per_s\":9000";
      answer += "}";
    }
    if (lie == "front-load" || lie == "deferred-prefill") {
      // Honest: 20 ms a prompt, 60 ms a run. Front-loaded: the run's work is done with the seed.
      if (kind == "prefill") nap_ms(lie == "deferred-prefill" ? 1 : 20);
      if (kind == "free_decode_begin") nap_ms(lie == "front-load" ? 80 : 20);
      if (kind == "free_decode_run") nap_ms(lie == "front-load" ? 1 : 60);
    }
    if (lying) act(answer);
    answer += "\n";
    if (lying && lie == "twice") answer += answer;
    if (lying && lie == "half-unasked") answer += "{\"id\":";
    put(1, answer);
  }
  if (lie == "stay-after-eof" || lie == "ignore-term") {
    if (lie == "ignore-term") signal(SIGTERM, SIG_IGN);
    hang();
  }
  return 0;
}
