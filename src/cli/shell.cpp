// Shell completion and man pages, made from the flag table.
#include <algorithm>

#include "base/build_info.h"
#include "base/text.h"
#include "cli/program.h"

namespace assay::cli {

namespace {

std::vector<std::string> flag_names(const Command& command) {
  std::vector<std::string> names;
  for (const Flag& flag : command.flags) {
    if (flag.arity != Arity::refused)
      names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  for (const char* common : {"--json", "--quiet", "--help"}) {
    if (std::find(names.begin(), names.end(), common) == names.end()) names.emplace_back(common);
  }
  return names;
}

std::string identifier(std::string_view name) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '-' || c == ' '; }, '_');
  return out;
}

// Text for a troff line: backslashes and hyphens escaped, no line that begins with a control
// character.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out.push_back(c);
    }
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string zsh_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':') {
      out += cat("\\", c);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace

std::string bash_completion(const Program& program) {
  const std::string function = cat("_", identifier(program.name));
  std::vector<std::string> verbs;
  for (const Command& command : program.commands) {
    if (!command.hidden && !command.name.empty()) verbs.emplace_back(split(command.name, ' ')[0]);
  }
  std::sort(verbs.begin(), verbs.end());
  verbs.erase(std::unique(verbs.begin(), verbs.end()), verbs.end());
  std::string out =
      cat("# bash completion for ", program.name, "\n", function,
          "() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" line=\"${COMP_WORDS[*]:1}\"\n"
          "  COMPREPLY=()\n");
  if (!verbs.empty()) {
    out += cat("  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"",
               join(verbs, " "), " --help --version\" -- \"$cur\"))\n    return\n  fi\n");
  }
  out += "  if [[ \"$cur\" == -* ]]; then\n    case \"$line\" in\n";
  // Longer names first: "score verify" before "score".
  std::vector<const Command*> order;
  for (const Command& command : program.commands) order.push_back(&command);
  std::stable_sort(order.begin(), order.end(), [](const Command* a, const Command* b) {
    return a->name.size() > b->name.size();
  });
  for (const Command* command : order) {
    out += cat("      \"", command->name, "\"*) COMPREPLY=($(compgen -W \"",
               join(flag_names(*command), " "), "\" -- \"$cur\")) ;;\n");
  }
  out +=
      cat("    esac\n  else\n    COMPREPLY=($(compgen -f -- \"$cur\"))\n  fi\n}\ncomplete -o "
          "filenames -F ",
          function, " ", program.name, "\n");
  return out;
}

std::string zsh_completion(const Program& program) {
  std::string out = cat("#compdef ", program.name, "\nlocal line=\"${words[*]:1}\"\n");
  if (!(program.commands.size() == 1 && program.commands[0].name.empty())) {
    out += "if (( CURRENT == 2 )); then\n  local -a verbs=(\n";
    for (const Command& command : program.commands) {
      if (!command.hidden) {
        out += cat("    '", zsh_quoted(command.name), ":", zsh_quoted(command.summary), "'\n");
      }
    }
    out += "  )\n  _describe 'command' verbs\n  return\nfi\n";
  }
  out += "case \"$line\" in\n";
  for (const Command& command : program.commands) {
    out += cat("  '", command.name, "'*) _arguments");
    for (const Flag& flag : command.flags) {
      if (flag.arity == Arity::refused) continue;
      for (const std::string& name : flag.names) {
        out +=
            cat(" '*", name, "[", zsh_quoted(flag.help), "]",
                flag.arity == Arity::toggle ? "" : cat(":", zsh_quoted(flag.value_name), ":_files"),
                "'");
      }
    }
    out += " '*:file:_files' ;;\n";
  }
  return out + "esac\n";
}

std::string man_page(const Program& program) {
  std::string upper = program.name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string out = cat(".TH ", troff(upper), " 1 \"\" \"assay ", build_version(), "\"\n.SH NAME\n",
                        troff(program.name), " \\- ", troff(program.summary), "\n");
  for (const Command& command : program.commands) {
    if (command.hidden) continue;
    out += cat(".SH ", command.name.empty() ? std::string("DESCRIPTION") : troff(command.name),
               "\n", troff(command.summary), "\n");
    if (!command.example.empty()) out += cat(".PP\n.nf\n", troff(command.example), "\n.fi\n");
    for (const Positional& positional : command.positionals) {
      out += cat(".TP\n.I ", troff(positional.name), "\n", troff(positional.help), "\n");
    }
    for (const Flag& flag : command.flags) {
      if (flag.arity == Arity::refused) continue;
      out += cat(".TP\n.B ", troff(join(flag.names, ", ")),
                 flag.value_name.empty() ? "" : cat(" \\fI", troff(flag.value_name), "\\fR"), "\n",
                 troff(flag.help), flag.required ? " Required." : "", "\n");
    }
    if (!command.notes.empty()) {
      out += ".PP\n.nf\n";
      for (const std::string_view line : split(command.notes, '\n')) out += cat(troff(line), "\n");
      out += ".fi\n";
    }
  }
  return out;
}

}  // namespace assay::cli
