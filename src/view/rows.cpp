#include "view/rows.h"

#include <array>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "view/facts.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

constexpr uint64_t kLimitDefault = 1000;
constexpr uint64_t kLimitMax = 100'000;

struct Filter {
  const Column* column = nullptr;
  bool of_run = false;
  int32_t code = -2;
};

Refusal wrong(std::string detail) {
  return Refusal(kHttpParameter, std::move(detail));
}

// The tags of a run with a row's differences over them, as a JSON object; "" when there are none.
std::string merged_tags(std::string_view run, std::string_view own) {
  json::Value merged = json::Value::object();
  for (const std::string_view cell : {run, own}) {
    if (cell.empty()) continue;
    const auto text = json::parse(cell);
    if (!text || !text->is_string()) continue;
    const auto object = json::parse(text->string());
    if (!object || !object->is_object()) continue;
    for (const auto& [key, value] : object->members()) merged.set(key, value);
  }
  std::erase_if(merged.members(), [](const auto& member) { return member.second.is_null(); });
  return merged.members().empty() ? "" : json::write(merged, {.sort_keys = true});
}

}  // namespace

Result<std::string> rows_json(const Index& index, const Query& query) {
  struct Known {
    const char* name;
    bool of_run;
  };
  constexpr std::array<Known, 5> kKnown = {
      {{"suite", true}, {"metric", false}, {"unit", false}, {"model", true}, {"evidence", true}}};
  std::vector<Filter> filters;
  uint64_t limit = kLimitDefault;
  std::set<std::string_view> seen;
  for (const auto& [key, value] : query) {
    if (!seen.insert(key).second) return wrong(cat("`", mended_utf8(key), "` stands twice"));
    if (key == "limit") {
      const auto number = parse_uint64(value);
      if (!number || *number < 1 || *number > kLimitMax)
        return wrong(cat("`limit` is \"", mended_utf8(value), "\", expected 1 to ", kLimitMax));
      limit = *number;
      continue;
    }
    const Known* known = nullptr;
    for (const Known& candidate : kKnown) {
      if (key == candidate.name) known = &candidate;
    }
    if (known == nullptr)
      return wrong(cat("unknown parameter `", mended_utf8(key),
                       "`; known: suite, metric, unit, model, evidence, limit"));
    static const std::set<std::string_view> evidences = {"scored", "experimental", "recovered",
                                                         "invalid"};
    if (key == "evidence" && !evidences.contains(value))
      return wrong(cat("`evidence` is \"", mended_utf8(value),
                       "\", expected scored, experimental, recovered or invalid"));
    const Column* column = known->of_run ? index.shard_column(key) : index.row_column(key);
    filters.push_back(
        {column, known->of_run, column != nullptr ? column->find(json_text(value)) : -2});
  }

  std::string rows;
  uint64_t total = 0, count = 0;
  const size_t size = index.rows.empty() ? 0 : index.rows[0].size();
  for (size_t row = 0; row < size; ++row) {
    const size_t run = *parse_uint64(index.rows[0].at(row));
    bool passes = true;
    for (const Filter& filter : filters) {
      passes = passes && filter.code >= 0 &&
               filter.column->code(filter.of_run ? run : row) == filter.code;
    }
    if (!passes) continue;
    ++total;
    if (count == limit) continue;
    rows += count++ == 0 ? "\n{" : ",\n{";
    bool first = true;
    const auto cell = [&](std::string_view name, std::string_view json) {
      if (json.empty()) return;
      rows += cat(first ? "" : ",", json_text(name), ":", json);
      first = false;
    };
    std::string_view own_tags;
    for (size_t i = 1; i < index.rows.size(); ++i) {
      const Column& column = index.rows[i];
      if (column.name() == "tags_json") {
        own_tags = column.at(row);
      } else if (column.name() == "value" && column.at(row).empty()) {
        cell("value", "null");
      } else {
        cell(column.name(), column.at(row));
      }
    }
    for (const Column& column : index.shards) {
      if (column.name() == "tags_json") {
        cell("tags", merged_tags(column.at(run), own_tags));
      } else if (column.name() != "rate_basis") {  // the row has its own
        cell(column.name(), column.at(run));
      }
    }
    rows.push_back('}');
  }
  return cat("{\"format\":\"assay-rows-1\",\"total\":", total, ",\"count\":", count, ",\"rows\":[",
             rows, "]}\n");
}

}  // namespace assay::view
