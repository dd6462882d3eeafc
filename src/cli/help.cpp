// Help and version texts, made from the flag table.
#include <algorithm>
#include <utility>

#include "base/build_info.h"
#include "base/text.h"
#include "cli/program.h"

namespace assay::cli {

namespace {

constexpr size_t kWidth = 100;

// Words of `text` in lines of at most kWidth, each after `indent` spaces; the first line continues
// `out`.
void append_wrapped(std::string& out, std::string_view text, size_t indent) {
  size_t column = indent;
  bool first = true;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!first && column + 1 + word.size() > kWidth) {
      out += cat("\n", std::string(indent, ' '));
      column = indent;
      first = true;
    }
    if (!first) {
      out.push_back(' ');
      ++column;
    }
    out.append(word);
    column += word.size();
    first = false;
  }
  out.push_back('\n');
}

void append_row(std::string& out, const std::string& left, std::string_view text, size_t column) {
  out += cat("  ", left);
  if (left.size() + 3 > column) {
    out += cat("\n", std::string(column, ' '));
  } else {
    out.append(column - left.size() - 2, ' ');
  }
  append_wrapped(out, text, column);
}

std::string flag_left(const Flag& flag) {
  std::string left = join(flag.names, ", ");
  if (!flag.value_name.empty()) left += cat(" ", flag.value_name);
  return left;
}

std::string flag_help(const Flag& flag) {
  std::string help = flag.help;
  if (!flag.choices.empty()) help += cat(" One of: ", join(flag.choices, ", "), ".");
  if (flag.required) help += " Required.";
  if (flag.arity == Arity::repeatable) help += " May be repeated.";
  if (!flag.conflicts_with.empty()) help += cat(" Excludes ", join(flag.conflicts_with, ", "), ".");
  return help;
}

std::string target_triple() {
#if defined(__x86_64__)
  return "x86_64-unknown-linux-gnu";
#elif defined(__aarch64__)
  return "aarch64-unknown-linux-gnu";
#else
  return "unknown";
#endif
}

}  // namespace

std::string program_help(const Program& program) {
  std::string out = cat(program.name, ": ", program.summary, "\n\n");
  for (const Command& command : program.commands) {
    if (!command.hidden && !command.example.empty()) {
      out += cat("Example:\n  ", command.example, "\n\n");
      break;
    }
  }
  out += cat("Usage: ", program.name, " COMMAND [flags]\n\nCommands:\n");
  size_t column = 0;
  for (const Command& command : program.commands)
    column = std::max(column, command.name.size() + 4);
  for (const Command& command : program.commands) {
    if (!command.hidden) append_row(out, command.name, command.summary, column);
  }
  out += cat("\nEach command has --help. Also: ", program.name,
             " --version, completion bash|zsh, man.\n");
  return out;
}

std::string command_help(const Program& program, const Command& command) {
  std::string name = program.name;
  if (!command.name.empty()) name += cat(" ", command.name);
  std::string out;
  if (!command.example.empty()) out += cat("Example:\n  ", command.example, "\n\n");
  out += cat("Usage: ", name, " [flags]");
  for (const Positional& positional : command.positionals) {
    const std::string shown = cat(positional.name, positional.repeatable ? "..." : "");
    out += positional.required ? cat(" ", shown) : cat(" [", shown, "]");
  }
  out += "\n";
  append_wrapped(out, command.summary, 0);
  if (!command.positionals.empty()) {
    out += "\nArguments:\n";
    for (const Positional& positional : command.positionals) {
      append_row(out, positional.name, positional.help, 28);
    }
  }
  out += "\nFlags:\n";
  for (const Flag& flag : command.flags) {
    if (flag.arity != Arity::refused) append_row(out, flag_left(flag), flag_help(flag), 28);
  }
  const auto own = [&](std::string_view wanted) {
    return std::any_of(command.flags.begin(), command.flags.end(),
                       [&](const Flag& flag) { return flag.names[0] == wanted; });
  };
  if (!own("--json")) append_row(out, "--json", "Machine-readable results and refusals.", 28);
  if (!own("--quiet")) append_row(out, "--quiet", "No progress on stderr.", 28);
  append_row(out, "-h, --help", "This text.", 28);
  if (!command.notes.empty()) out += cat("\n", command.notes, "\n");
  return out;
}

std::string version_text(const Program& program) {
  const bool unknown = build_commit().find_first_not_of('0') == std::string_view::npos;
  std::string out = cat(program.name, " ", build_version(), "\ncommit ",
                        unknown ? std::string_view("unknown") : build_commit(), "\ntarget ",
                        target_triple(), "\n");
  for (const auto& [what, version] : program.versions) out += cat(what, " ", version, "\n");
  return out;
}

}  // namespace assay::cli
