// `benchd score verify`: do the sealed files agree with each other and with their own arithmetic?
#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "benchd/commands/commands.h"
#include "benchd/seal_files.h"
#include "scoring/verify.h"

namespace assay::benchd {

namespace {

Result<std::vector<Refusal>> problems_of(const std::filesystem::path& score,
                                         const std::optional<std::string>& contract) {
  TRY(files, read_seal(score));
  if (contract) {
    TRY(bytes, read_file(*contract));
    files.contract = std::move(bytes);
  }
  return scoring::verify_seal(files);
}

int run_score_verify(const cli::Invocation& invocation) {
  const auto& arguments = invocation.arguments("SCORE");
  const std::string score = arguments.empty() ? "score.json" : arguments.front();
  const auto problems = problems_of(score, invocation.text("--contract"));
  if (!problems) return invocation.refuse(problems.refusal(), cli::kInputOutput);
  const int exit = problems->empty() ? cli::kOk : cli::kJudgedNo;
  if (invocation.json()) {
    std::vector<json::Value> rows;
    for (const Refusal& problem : *problems) {
      rows.push_back(json::Value::object({{"refusal", problem.code}, {"detail", problem.detail}}));
    }
    const json::Value result = json::Value::object({{"ok", problems->empty()},
                                                    {"score", score},
                                                    {"problems", json::Value::array(rows)},
                                                    {"exit", exit}});
    std::printf("%s\n", json::write(result).c_str());
    return exit;
  }
  for (const Refusal& problem : *problems) {
    std::fprintf(stderr, "%s: %s\n", invocation.name().c_str(), problem.text().c_str());
  }
  if (problems->empty()) {
    std::printf("%s\n", cat("VERIFIED ", score).c_str());
  } else {
    std::printf("%s\n", cat("NOT VERIFIED ", score, " (", problems->size(),
                            problems->size() == 1 ? " problem)" : " problems)")
                            .c_str());
  }
  return exit;
}

}  // namespace

cli::Command score_verify_command() {
  return {
      .name = "score verify",
      .summary = "Check a sealed score: digests, form, and the score recomputed from its legs.",
      .example = "benchd score verify out/score.json",
      .flags = {{{"--contract"},
                 cli::Arity::value,
                 "FILE",
                 "Also check that the sealed terms are this contract's."}},
      .positionals = {{"SCORE", "The score file (score.json); its three companions lie beside it.",
                       false}},
      .run = run_score_verify,
      .notes =
          "Works on a copied folder. Exit: 0 verified, 1 a problem was found, 2 wrong command "
          "line, 3 a file cannot be read."};
}

}  // namespace assay::benchd
