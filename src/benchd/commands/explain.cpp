// `benchd explain CODE`: what a refusal means and what to do about it.
#include <cstdio>

#include "base/text.h"
#include "benchd/catalogue.h"
#include "benchd/commands/commands.h"
#include "benchd/refusals.h"

namespace assay::benchd {

namespace {

constexpr size_t kNearest = 3;

json::Value to_json(const CatalogueEntry& entry) {
  return json::Value::object({{"code", entry.code},
                              {"library", entry.library},
                              {"meaning", entry.meaning},
                              {"remedy", entry.remedy}});
}

int list_all(const cli::Invocation& invocation, const std::vector<CatalogueEntry>& entries) {
  if (invocation.json()) {
    std::vector<json::Value> rows;
    for (const CatalogueEntry& entry : entries) rows.push_back(to_json(entry));
    std::printf("%s\n", json::write(json::Value::array(std::move(rows))).c_str());
    return cli::kOk;
  }
  for (const CatalogueEntry& entry : entries) std::printf("%s\n", entry.code.c_str());
  return cli::kOk;
}

int run_explain(const cli::Invocation& invocation) {
  const std::vector<CatalogueEntry> entries = parse_catalogue(catalogue_text());
  const auto& arguments = invocation.arguments("CODE");
  if (arguments.empty()) return list_all(invocation, entries);
  const CatalogueEntry* entry = find_entry(entries, arguments.front());
  if (entry == nullptr) {
    const std::string nearest = join(nearest_codes(entries, arguments.front(), kNearest), ", ");
    return invocation.refuse(
        Refusal(kRefusalUnknown, cat("`", arguments.front(), "`; the nearest are ", nearest)),
        cli::kUsage);
  }
  if (invocation.json()) {
    std::printf("%s\n", json::write(to_json(*entry)).c_str());
  } else {
    std::printf("%s\n  %s\n  %s\n", entry->code.c_str(), entry->meaning.c_str(),
                entry->remedy.c_str());
  }
  return cli::kOk;
}

}  // namespace

cli::Command explain_command() {
  return {.name = "explain",
          .summary = "Say what a refusal means and what to do; without a code, list them all.",
          .example = "benchd explain BASELINE-BOX-UNRESOLVED",
          .positionals = {{"CODE", "The refusal's code.", false}},
          .run = run_explain,
          .notes = "Exit: 0, 2 no such code (the nearest are named)."};
}

}  // namespace assay::benchd
