// verdict: may it be said that one profile leads another?
#include <iostream>

#include "base/printable.h"
#include "base/text.h"
#include "load/commands/commands.h"
#include "load/verdict.h"
#include "load/verdict_files.h"

namespace assay::load {

namespace {

json::Value verdict_json(const Verdict& verdict, const VerdictRules& rules) {
  json::Value classes = json::Value::object();
  for (const auto& [name, count] : verdict.classes) {
    classes.set(name, json::Value::object({{"runs", static_cast<uint64_t>(count.ratios.size())},
                                           {"needed", rules.runs_needed},
                                           {"ratios", json::Value::array_of(count.ratios)},
                                           {"sentence", verdict.sentence(name, rules)},
                                           {"discarded", json::Value::array_of(count.discarded)}}));
  }
  return json::Value::object({{"config", verdict.config},
                              {"candidate", verdict.candidate},
                              {"control", verdict.control},
                              {"final", verdict.final_},
                              {"classes", std::move(classes)}});
}

int run(const cli::Invocation& invocation) {
  std::vector<std::filesystem::path> folders;
  for (const std::string& folder : invocation.arguments("DIR")) folders.emplace_back(folder);
  const auto found = find_runs(folders, invocation.text_or("--figure", "cumulative_tok_s"));
  if (!found) return invocation.refuse(found.refusal(), cli::kInputOutput);
  const VerdictRules rules;
  const auto verdicts = count_verdicts(found->runs, rules);
  if (invocation.json()) {
    std::vector<json::Value> list;
    for (const Verdict& verdict : verdicts) list.push_back(verdict_json(verdict, rules));
    std::cout << json::write(
                     json::Value::object({{"verdicts", json::Value::array(std::move(list))},
                                          {"left_out", json::Value::array_of(found->left_out)}}))
              << "\n";
    return cli::kOk;
  }
  for (const Verdict& verdict : verdicts) {
    std::cout << printable_line(verdict.config) << "\n";
    for (const auto& [name, count] : verdict.classes) {
      std::cout << "  " << printable_line(cat(name, ": ", verdict.sentence(name, rules))) << "\n";
      for (const std::string& why : count.discarded) invocation.progress(cat("discarded: ", why));
    }
  }
  if (verdicts.empty()) std::cout << "no run to count\n";
  for (const std::string& why : found->left_out) invocation.progress(cat("left out: ", why));
  return cli::kOk;
}

}  // namespace

cli::Command verdict_command() {
  return {.name = "verdict",
          .summary = "Counts the runs of campaigns: who leads, and is it final or provisional.",
          .example = "assay-load verdict ~/bench-runs",
          .flags = {{.names = {"--figure"},
                     .value_name = "NAME",
                     .help = "The rate that is compared (cumulative_tok_s).",
                     .choices = {"cumulative_tok_s", "decode_tok_s", "prefill_tok_s"}}},
          .positionals = {{.name = "DIR", .help = "Folder with campaigns.", .repeatable = true}},
          .run = run,
          .notes =
              "A run counts when the two halves of candidate and of control each agree within "
              "15 %, and it lies five days\n"
              "after the one before. Four in each class, isolated and under-load, are final.\n"
              "Exit: 0, 2 usage, 3 no files to judge."};
}

}  // namespace assay::load
