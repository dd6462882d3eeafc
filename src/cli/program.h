// One flag table per program: parsing, help, --version, shell completion and man pages come from
// it.
//
// A program declares its Commands as data and calls run_program from main(). Every command has
// --help (example first), --json and --quiet; every program has --version, `completion bash|zsh`
// and `man`. CLI11 does the parsing behind this header.
//
// Errors    wrong command lines are refused by name (USAGE-…) on stderr, followed by the command's
// usage,
//           exit 2; with --json among the arguments they are one JSON object on stdout.
// Threads   call from main() only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/refusal.h"

namespace assay::cli {

/// The exit table of every new verb. Verbs with an older table of their own say so in their help.
enum Exit : int {
  kOk = 0,
  kJudgedNo = 1,  // failed gate, score refused
  kUsage = 2,
  kInputOutput = 3,  // a file or stream could not be read or written, or is not what it should be
  kNotReady = 4,     // the environment or the box is not ready
  kPairBudget = 5,
  kCalibration = 6,
  kPrerequisite = 8,  // a prerequisite or pin does not hold
  kInterrupted = 130,
};

enum class Arity {
  toggle,      // present or absent
  value,       // takes the next argument; given twice, the last wins, but each must convert
  repeatable,  // takes the next argument; kept in order of appearance
  refused,     // a known name that is refused with its `help` as the sentence
};

/// What a value must convert to.
enum class Type { text, i64, u64, u32, f64 };

struct Flag {
  std::vector<std::string>
      names;  // "--weights", "-m": the first is canonical, the rest are aliases
  Arity arity = Arity::value;
  std::string value_name{};  // "DIR", "N": how help shows the value
  std::string help{};        // one sentence
  bool required = false;
  Type type = Type::text;
  std::vector<std::string> choices{};         // when not empty, the only values accepted
  std::vector<std::string> conflicts_with{};  // canonical names
};

/// A positional argument. Only the last one may be repeatable.
struct Positional {
  std::string name;  // "MODEL"
  std::string help;
  bool required = true;
  bool repeatable = false;
};

class Invocation;

struct Command {
  std::string name;       // "iterate"; two words for nested verbs ("score verify"); "" in a program
                          // without verbs
  std::string summary;    // one line
  std::string example{};  // a whole command line that works
  std::vector<Flag> flags{};
  std::vector<Positional> positionals{};
  std::function<int(const Invocation&)> run;  // returns the exit code
  std::string notes{};                        // further help: exit codes, environment; may be empty
  bool hidden = false;
};

struct Program {
  std::string name;
  std::string summary;
  std::vector<Command> commands;
  /// Further lines of --version: {"engine protocol", "1 (v1.2)"}.
  std::vector<std::pair<std::string, std::string>> versions;
};

/// A parsed command line. Flags are asked for by canonical name; an undeclared name is our bug
/// (ENSURE).
class Invocation {
 public:
  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const Command& command() const { return *command_; }

  [[nodiscard]] bool has(std::string_view flag) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view flag) const;
  [[nodiscard]] std::string text_or(std::string_view flag, std::string_view fallback) const;
  [[nodiscard]] const std::vector<std::string>& all(std::string_view flag) const;
  // The flag's Type was checked when the line was parsed.
  [[nodiscard]] std::optional<int64_t> i64(std::string_view flag) const;
  [[nodiscard]] std::optional<uint64_t> u64(std::string_view flag) const;
  [[nodiscard]] std::optional<uint32_t> u32(std::string_view flag) const;
  [[nodiscard]] std::optional<double> f64(std::string_view flag) const;
  /// Values of a positional argument, in order.
  [[nodiscard]] const std::vector<std::string>& arguments(std::string_view positional) const;

  [[nodiscard]] bool json() const { return has("--json"); }
  [[nodiscard]] bool quiet() const { return has("--quiet"); }

  /// "benchd iterate"; the prefix of everything on stderr.
  [[nodiscard]] std::string name() const;

  /// Prints the refusal (stderr, or one JSON object on stdout with --json) and returns `exit`.
  int refuse(const Refusal& refusal, int exit) const;
  /// The same for a value that the table cannot check; prints the usage too, returns 2.
  int refuse_usage(std::string detail) const;
  /// One progress line on stderr, "benchd iterate: text"; nothing with --quiet.
  void progress(std::string_view text) const;

 private:
  friend int run_program(const Program& program, const std::vector<std::string>& arguments);
  const Program* program_ = nullptr;
  const Command* command_ = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// {"ok":false,"refusal":CODE,"detail":…,"exit":n}: what --json prints for a refusal.
[[nodiscard]] json::Value refusal_json(const Refusal& refusal, int exit);

/// Parses `arguments` (without the program's own name), runs the command, returns the exit code.
/// Standard output is flushed and checked: when it cannot be written, OUTPUT-CLOSED and exit 3.
int run_program(const Program& program, const std::vector<std::string>& arguments);
int run_program(const Program& program, int argc, char** argv);

// The texts that are made from the table; public for tests and for the build.
[[nodiscard]] std::string program_help(const Program& program);
[[nodiscard]] std::string command_help(const Program& program, const Command& command);
[[nodiscard]] std::string version_text(const Program& program);
[[nodiscard]] std::string bash_completion(const Program& program);
[[nodiscard]] std::string zsh_completion(const Program& program);
[[nodiscard]] std::string man_page(const Program& program);

}  // namespace assay::cli
