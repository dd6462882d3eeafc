#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "base/ensure.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/refusals.h"

namespace assay::cli {

namespace {

// Flags that every command has.
const std::vector<Flag>& common_flags() {
  static const std::vector<Flag> flags = {
      {.names = {"--json"},
       .arity = Arity::toggle,
       .help = "Machine-readable results and refusals."},
      {.names = {"--quiet"}, .arity = Arity::toggle, .help = "No progress on stderr."}};
  return flags;
}

// The command's own flags, then the common ones that it does not define itself.
std::vector<Flag> all_flags(const Command& command) {
  std::vector<Flag> flags = command.flags;
  for (const Flag& common : common_flags()) {
    const bool own = std::any_of(command.flags.begin(), command.flags.end(), [&](const Flag& flag) {
      return flag.names[0] == common.names[0];
    });
    if (!own) flags.push_back(common);
  }
  return flags;
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::i64: return "i64";
    case Type::u64: return "u64";
    case Type::u32: return "u32";
    case Type::f64: return "f64";
    case Type::text: break;
  }
  return "text";
}

bool converts(const std::string& value, Type type) {
  switch (type) {
    case Type::i64: return parse_int64(value).has_value();
    case Type::u64: return parse_uint64(value).has_value();
    case Type::u32: {
      const auto number = parse_uint64(value);
      return number && *number <= UINT32_MAX;
    }
    case Type::f64: return parse_double(value).has_value();
    case Type::text: break;
  }
  return true;
}

// Which spelling of the flag stands first on the line: messages quote what was typed.
std::string typed_name(const Flag& flag, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    for (const std::string& name : flag.names) {
      if (argument == name || argument.starts_with(name + "=")) return name;
    }
  }
  return flag.names[0];
}

std::optional<Refusal> check_values(const Flag& flag, const std::string& typed,
                                    const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (!converts(value, flag.type)) {
      return Refusal(kUsageInvalidValue,
                     cat("invalid ", type_name(flag.type), " for ", typed, ": \"", value, "\""));
    }
    if (!flag.choices.empty() &&
        std::find(flag.choices.begin(), flag.choices.end(), value) == flag.choices.end()) {
      return Refusal(kUsageInvalidValue, cat("invalid ", typed, " \"", value, "\" (expected ",
                                             join(flag.choices, ", "), ")"));
    }
  }
  return std::nullopt;
}

using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

// Reads the arguments of one command into `values`, or says what is wrong with them.
std::optional<Refusal> parse_arguments(const Command& command,
                                       const std::vector<std::string>& arguments, Values& values) {
  CLI::App app;
  app.set_help_flag();
  app.allow_windows_style_options(false);
  const std::vector<Flag> flags = all_flags(command);
  std::vector<std::vector<std::string>> given(flags.size());
  std::vector<CLI::Option*> options(flags.size());
  for (size_t i = 0; i < flags.size(); ++i) {
    std::vector<std::string> names = flags[i].names;
    if (flags[i].arity == Arity::toggle) {
      options[i] = app.add_flag(join(names, ","));
    } else {
      options[i] = app.add_option(join(names, ","), given[i]);
      options[i]->expected(1)->allow_extra_args(false)->take_all();
      if (flags[i].arity == Arity::refused) options[i]->expected(0, 1);
    }
  }
  std::vector<std::vector<std::string>> placed(command.positionals.size());
  for (size_t i = 0; i < command.positionals.size(); ++i) {
    CLI::Option* option = app.add_option(command.positionals[i].name, placed[i]);
    if (command.positionals[i].repeatable) {
      option->expected(-1);
    } else {
      option->expected(1)->allow_extra_args(false);
    }
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining();
    const std::string first = extras.empty() ? "" : extras.front();
    if (first.starts_with('-'))
      return Refusal(kUsageUnknownFlag, cat("unknown flag \"", first, "\""));
    return Refusal(kUsageUnknownFlag, cat("unexpected argument \"", first, "\""));
  } catch (const CLI::ArgumentMismatch&) {
    for (const Flag& flag : flags) {
      if (flag.arity == Arity::value || flag.arity == Arity::repeatable) {
        for (const std::string& name : flag.names) {
          if (!arguments.empty() && arguments.back() == name) {
            return Refusal(kUsageMissingValue, cat("flag ", name, " requires a value"));
          }
        }
      }
    }
    return Refusal(kUsageMissingValue, "a flag stands without its value");
  } catch (const CLI::ParseError& error) {
    return Refusal(kUsageInvalidValue, error.what());
  }

  for (size_t i = 0; i < flags.size(); ++i) {
    const Flag& flag = flags[i];
    if (options[i]->count() == 0) continue;
    const std::string typed = typed_name(flag, arguments);
    if (flag.arity == Arity::refused) {
      return Refusal(kUsageRefusedFlag, cat("flag ", typed, " ", flag.help));
    }
    for (const std::string& other : flag.conflicts_with) {
      for (size_t j = 0; j < flags.size(); ++j) {
        if (flags[j].names[0] == other && options[j]->count() > 0) {
          return Refusal(kUsageConflict,
                         cat(typed, " conflicts with ", typed_name(flags[j], arguments)));
        }
      }
    }
    if (auto refusal = check_values(flag, typed, given[i])) return refusal;
    values[flag.names[0]] =
        flag.arity == Arity::toggle ? std::vector<std::string>{"true"} : given[i];
  }
  for (const Flag& flag : flags) {
    if (flag.required && !values.contains(flag.names[0])) {
      return Refusal(kUsageMissingFlag,
                     cat("missing required ", flag.names[0],
                         flag.arity == Arity::repeatable ? " (repeatable)" : ""));
    }
  }
  for (size_t i = 0; i < command.positionals.size(); ++i) {
    const Positional& positional = command.positionals[i];
    if (positional.required && placed[i].empty()) {
      return Refusal(kUsageMissingFlag, cat("missing required ", positional.name));
    }
    values[positional.name] = placed[i];
  }
  return std::nullopt;
}

bool contains(const std::vector<std::string>& arguments, std::string_view wanted) {
  return std::find(arguments.begin(), arguments.end(), wanted) != arguments.end();
}

void print_json(const json::Value& value) {
  std::cout << json::write(value) << "\n";
}

// The command that the first words name, and how many words that took.
std::pair<const Command*, size_t> find_command(const Program& program,
                                               const std::vector<std::string>& arguments) {
  const Command* best = nullptr;
  size_t best_words = 0;
  for (const Command& command : program.commands) {
    const auto words = split(command.name, ' ');
    const size_t count = command.name.empty() ? 0 : words.size();
    if (count > arguments.size() || (best != nullptr && count <= best_words)) continue;
    bool same = true;
    for (size_t i = 0; i < count; ++i) same = same && arguments[i] == words[i];
    if (same) {
      best = &command;
      best_words = count;
    }
  }
  return {best, best_words};
}

int flushed(const Program& program, int exit) {
  std::cout.flush();
  if (std::cout.good() && std::fflush(stdout) == 0) return exit;
  std::cerr << program.name << ": "
            << Refusal(kOutputClosed, "standard output could not be written in full").text()
            << "\n";
  return exit == kOk ? kInputOutput : exit;
}

int print_text(const Program& program, const std::string& text) {
  std::cout << text;
  return flushed(program, kOk);
}

}  // namespace

bool Invocation::has(std::string_view flag) const {
  return values_.contains(flag);
}

const std::vector<std::string>& Invocation::all(std::string_view flag) const {
  static const std::vector<std::string> none;
  const auto found = values_.find(flag);
  if (found != values_.end()) return found->second;
  const std::vector<Flag> flags = all_flags(*command_);
  ENSURE(
      std::any_of(flags.begin(), flags.end(), [&](const Flag& f) { return f.names[0] == flag; }));
  return none;
}

std::optional<std::string> Invocation::text(std::string_view flag) const {
  const auto& values = all(flag);
  if (values.empty()) return std::nullopt;
  return values.back();
}
std::string Invocation::text_or(std::string_view flag, std::string_view fallback) const {
  return text(flag).value_or(std::string(fallback));
}
std::optional<int64_t> Invocation::i64(std::string_view flag) const {
  const auto value = text(flag);
  return value ? parse_int64(*value) : std::nullopt;
}
std::optional<uint64_t> Invocation::u64(std::string_view flag) const {
  const auto value = text(flag);
  return value ? parse_uint64(*value) : std::nullopt;
}
std::optional<uint32_t> Invocation::u32(std::string_view flag) const {
  const auto value = u64(flag);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}
std::optional<double> Invocation::f64(std::string_view flag) const {
  const auto value = text(flag);
  return value ? parse_double(*value) : std::nullopt;
}
const std::vector<std::string>& Invocation::arguments(std::string_view positional) const {
  const auto found = values_.find(positional);
  ENSURE(found != values_.end());
  return found->second;
}

std::string Invocation::name() const {
  return command_->name.empty() ? program_->name : cat(program_->name, " ", command_->name);
}

json::Value refusal_json(const Refusal& refusal, int exit) {
  return json::Value::object(
      {{"ok", false}, {"refusal", refusal.code}, {"detail", refusal.detail}, {"exit", exit}});
}

int Invocation::refuse(const Refusal& refusal, int exit) const {
  if (json()) {
    print_json(refusal_json(refusal, exit));
  } else {
    std::cout.flush();
    std::cerr << name() << ": " << printable(refusal.text()) << "\n";
  }
  return exit;
}

int Invocation::refuse_usage(std::string detail) const {
  const int exit = refuse(Refusal(kUsageInvalidValue, std::move(detail)), kUsage);
  if (!json()) std::cerr << "\n" << command_help(*program_, *command_);
  return exit;
}

void Invocation::progress(std::string_view text) const {
  if (quiet()) return;
  std::cerr << cat(name(), ": ", printable(text), "\n");
}

int run_program(const Program& program, const std::vector<std::string>& arguments) {
  const bool has_verbs = !(program.commands.size() == 1 && program.commands[0].name.empty());
  const bool as_json = contains(arguments, "--json");
  if (has_verbs && arguments.empty()) {
    std::cerr << program_help(program);
    return kUsage;
  }
  const std::string first = arguments.empty() ? "" : arguments[0];
  if (first == "--version") return print_text(program, version_text(program));
  if (has_verbs && (first == "-h" || first == "--help" || first == "help")) {
    return print_text(program, program_help(program));
  }
  if (first == "completion" && arguments.size() == 2 && arguments[1] == "bash") {
    return print_text(program, bash_completion(program));
  }
  if (first == "completion" && arguments.size() == 2 && arguments[1] == "zsh") {
    return print_text(program, zsh_completion(program));
  }
  if (first == "man" && arguments.size() == 1) return print_text(program, man_page(program));

  const auto [command, words] = find_command(program, arguments);
  if (command == nullptr) {
    const Refusal refusal(kUsageUnknownCommand, cat("unknown subcommand \"", first, "\""));
    if (as_json) {
      print_json(refusal_json(refusal, kUsage));
    } else {
      std::cerr << program.name << ": " << printable(refusal.text()) << "\n\n"
                << program_help(program);
    }
    return flushed(program, kUsage);
  }
  const std::vector<std::string> rest(arguments.begin() + static_cast<std::ptrdiff_t>(words),
                                      arguments.end());
  if (contains(rest, "--help") || contains(rest, "-h")) {
    return print_text(program, command_help(program, *command));
  }
  Invocation invocation;
  invocation.program_ = &program;
  invocation.command_ = command;
  if (const auto refusal = parse_arguments(*command, rest, invocation.values_)) {
    if (as_json) {
      print_json(refusal_json(*refusal, kUsage));
    } else {
      std::cerr << invocation.name() << ": " << printable(refusal->text()) << "\n\n"
                << command_help(program, *command);
    }
    return flushed(program, kUsage);
  }
  return flushed(program, command->run(invocation));
}

int run_program(const Program& program, int argc, char** argv) {
  return run_program(program, std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}

}  // namespace assay::cli
