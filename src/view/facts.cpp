#include "view/facts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "publish/columns.h"
#include "publish/envelope.h"
#include "publish/privacy.h"
#include "publish/refusals.h"
#include "publish/shard.h"
#include "view/footer.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

using publish::Cell;
// Sorted by key.
using Tags = std::vector<std::pair<std::string, std::string>>;

// Columns of the shard that hold for the whole run, and those of one row.
const std::vector<size_t>& run_columns() {
  static const std::vector<size_t> list = [] {
    std::vector<size_t> out;
    bool run = true;
    for (size_t i = 0; i < publish::columns().size(); ++i) {
      const std::string& name = publish::columns()[i].name;
      if (name == "name") run = false;
      // A host name may stand in a shard on purpose; it does not spread from there.
      if ((run && name != "hostname") || name == "errors_json") out.push_back(i);
    }
    return out;
  }();
  return list;
}
const std::vector<size_t>& row_columns() {
  static const std::vector<size_t> list = [] {
    std::vector<size_t> out;
    const size_t first = *publish::column_index("name");
    for (size_t i = first; !publish::columns()[i].name.starts_with("tag"); ++i) out.push_back(i);
    return out;
  }();
  return list;
}

// One shard before it becomes texts.
struct Table {
  std::vector<Cell> run{};  // as run_columns()
  std::string envelope_sha256{};
  std::vector<std::vector<Cell>> rows{};  // as row_columns()
  std::vector<Tags> tags{};               // of each row, sorted
  size_t not_finite = 0;
};

std::string json_of(const Cell& cell, Table& table) {
  if (const auto* text = std::get_if<std::string>(&cell)) return json_text(*text);
  if (const auto* integer = std::get_if<int64_t>(&cell)) return cat(*integer);
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean ? "true" : "false";
  if (const auto* real = std::get_if<double>(&cell)) {
    if (std::isfinite(*real)) return format_double(*real);
    ++table.not_finite;
  }
  return "";
}

std::string tags_json(const Tags& tags, const std::vector<std::string>& removed = {}) {
  if (tags.empty() && removed.empty()) return "";
  std::string object = "{";
  for (const auto& [key, value] : tags) {
    if (object.size() > 1) object.push_back(',');
    object += cat(json_text(key), ":", json_text(value));
  }
  for (const std::string& key : removed) {
    if (object.size() > 1) object.push_back(',');
    object += cat(json_text(key), ":null");
  }
  object.push_back('}');
  return json_text(object);
}

// The tags that most rows have with the same value.
Tags common_tags(const std::vector<Tags>& rows) {
  std::map<std::pair<std::string_view, std::string_view>, size_t> seen;
  for (const Tags& tags : rows) {
    for (const auto& [key, value] : tags) ++seen[{key, value}];
  }
  Tags common;
  for (const auto& [tag, count] : seen) {
    if (count * 2 > rows.size()) common.emplace_back(tag.first, tag.second);
  }
  return common;
}

// What a row says beyond the common tags: its other tags, and null for a common one it has not.
std::string own_tags_json(const Tags& tags, const Tags& common) {
  Tags own;
  std::set_difference(tags.begin(), tags.end(), common.begin(), common.end(),
                      std::back_inserter(own));
  std::vector<std::string> removed;
  for (const auto& [key, value] : common) {
    const auto same_key = [&key = key](const auto& tag) { return tag.first == key; };
    if (std::none_of(tags.begin(), tags.end(), same_key)) removed.push_back(key);
  }
  return tags_json(own, removed);
}

void encode(Table& table, ShardFacts& facts) {
  const auto run_basis = [&]() -> std::string {
    for (size_t i = 0; i < run_columns().size(); ++i) {
      if (publish::columns()[run_columns()[i]].name == "rate_basis")
        return json_of(table.run[i], table);
    }
    return "";
  }();
  std::vector<std::string> basis(table.rows.size(), run_basis);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    for (const auto& [key, value] : table.tags[i]) {
      if (key == "rate_basis") basis[i] = json_text(value);
    }
  }
  const Tags common = common_tags(table.tags);
  for (const Cell& cell : table.run) append_cell(facts.cells, json_of(cell, table));
  append_cell(facts.cells, table.envelope_sha256.empty() ? "" : json_text(table.envelope_sha256));
  append_cell(facts.cells, tags_json(common));
  for (size_t i = 0; i < table.rows.size(); ++i) {
    for (const Cell& cell : table.rows[i]) append_cell(facts.cells, json_of(cell, table));
    append_cell(facts.cells, basis[i]);
    append_cell(facts.cells, own_tags_json(table.tags[i], common));
  }
  facts.rows_listed = table.rows.size();
  facts.shown = true;
}

// From the footer's envelope: the same cells that publish wrote into the columns.
// Host names are not shown, whoever published them.
Table table_of(publish::Envelope envelope, bool list_rows) {
  publish::remove_host_names(envelope);
  const publish::RowSource source(envelope);
  Table table;
  for (const size_t column : run_columns()) table.run.push_back(source.cell(column, 0));
  const size_t rows = list_rows ? source.rows() : 0;
  table.rows.resize(rows);
  table.tags.resize(rows);
  for (size_t row = 0; row < rows; ++row) {
    for (const size_t column : row_columns()) table.rows[row].push_back(source.cell(column, row));
    if (row >= envelope.results.size()) continue;
    for (const auto& [key, text] : publish::sorted(envelope.results[row].tags))
      table.tags[row].emplace_back(key, text);
  }
  return table;
}

// A cell of a foreign column as our column's type; what cannot be one is NULL.
Cell as_type(const Cell& cell, publish::ColumnType type) {
  using publish::ColumnType;
  if (std::holds_alternative<std::monostate>(cell)) return {};
  switch (type) {
    case ColumnType::text:
      if (const auto* integer = std::get_if<int64_t>(&cell)) return cat(*integer);
      if (const auto* boolean = std::get_if<bool>(&cell))
        return std::string(*boolean ? "true" : "false");
      if (const auto* real = std::get_if<double>(&cell))
        return std::isfinite(*real) ? Cell(format_double(*real)) : Cell();
      return cell;
    case ColumnType::integer:
      if (const auto* text = std::get_if<std::string>(&cell)) {
        const auto number = parse_int64(*text);
        return number ? Cell(*number) : Cell();
      }
      if (const auto* real = std::get_if<double>(&cell)) {
        const bool whole = std::fabs(*real) < 9e15 && *real == std::floor(*real);
        return whole ? Cell(static_cast<int64_t>(*real)) : Cell();
      }
      return std::holds_alternative<int64_t>(cell) ? cell : Cell();
    case ColumnType::real:
      if (const auto* text = std::get_if<std::string>(&cell)) {
        const auto number = parse_double(*text);
        return number ? Cell(*number) : Cell();
      }
      if (const auto* integer = std::get_if<int64_t>(&cell)) return static_cast<double>(*integer);
      return std::holds_alternative<double>(cell) ? cell : Cell();
    case ColumnType::boolean:
      if (const auto* text = std::get_if<std::string>(&cell))
        return *text == "true" ? Cell(true) : *text == "false" ? Cell(false) : Cell();
      return std::holds_alternative<bool>(cell) ? cell : Cell();
  }
  return {};
}

Tags tags_of(const publish::Shard& shard, size_t row) {
  Tags tags;
  if (const auto* text = std::get_if<std::string>(&shard.at("tags_json", row))) {
    const auto object = json::parse(*text, {.last_duplicate_wins = true});
    if (object && object->is_object()) {
      for (const auto& [key, value] : object->members()) {
        if (value.is_string()) tags.emplace_back(key, value.string());
      }
    }
  } else {
    for (size_t i = 0; i < shard.names.size(); ++i) {
      if (!shard.names[i].starts_with("tag_")) continue;
      const Cell value = as_type(shard.at(i, row), publish::ColumnType::text);
      if (const auto* word = std::get_if<std::string>(&value))
        tags.emplace_back(shard.names[i].substr(4), *word);
    }
  }
  std::sort(tags.begin(), tags.end());
  return tags;
}

// From the columns. `unknown` receives the columns that we have no use for.
Result<Table> table_of(const publish::Shard& shard, bool list_rows,
                       std::vector<std::string>& unknown) {
  std::map<std::string_view, size_t> place;
  for (size_t i = 0; i < shard.names.size(); ++i) place.emplace(shard.names[i], i);
  std::vector<std::optional<size_t>> source(publish::columns().size());
  for (size_t column = 0; column < source.size(); ++column) {
    const auto found = place.find(publish::columns()[column].name);
    if (found != place.end()) source[column] = found->second;
  }
  const auto cell = [&](size_t column, size_t row) -> Cell {
    if (!source[column]) return {};
    return as_type(shard.at(*source[column], row), publish::columns()[column].type);
  };
  Table table;
  table.envelope_sha256 = shard.envelope_sha256;
  for (const size_t column : run_columns()) {
    table.run.push_back(shard.rows > 0 ? cell(column, 0) : Cell());
    // A column that says one thing has one cell.
    const bool varies = source[column] && shard.cells[*source[column]].size() > 1;
    for (size_t row = 1; varies && row < shard.rows; ++row) {
      if (cell(column, row) == table.run.back()) continue;
      return Refusal(kShardMixed, cat("column `", publish::columns()[column].name,
                                      "` differs between row 0 and row ", row));
    }
  }
  const size_t rows = list_rows ? shard.rows : 0;
  table.rows.resize(rows);
  for (size_t row = 0; row < rows; ++row) {
    for (const size_t column : row_columns()) table.rows[row].push_back(cell(column, row));
    table.tags.push_back(tags_of(shard, row));
  }
  for (const std::string& name : shard.names) {
    if (!publish::column_index(name) && !name.starts_with("tag_"))
      unknown.push_back(mended_utf8(name));
  }
  return table;
}

void leave_out(ShardFacts& facts, const Refusal& why) {
  facts.shown = false;
  facts.problem = mended_utf8(why.text());
}

void read_columns(std::string_view bytes, std::string reason, ShardFacts& facts) {
  facts.foreign = true;
  const auto shard = publish::read_shard(bytes);
  if (!shard) return leave_out(facts, shard.refusal());
  facts.rows = shard->rows;
  std::vector<std::string> unknown;
  auto table = table_of(*shard, shard->rows <= kListedRowsMax, unknown);
  if (!table) return leave_out(facts, table.refusal());
  encode(*table, facts);
  if (!unknown.empty()) {
    const size_t more = unknown.size() > 8 ? unknown.size() - 8 : 0;
    unknown.resize(unknown.size() - more);
    reason += cat("; columns unknown here: ", join(unknown, ", "),
                  more > 0 ? cat(" and ", more, " more") : "");
  }
  if (table->not_finite > 0) reason += cat("; ", table->not_finite, " values are not finite");
  facts.problem = Refusal(kShardForeign, std::move(reason)).text();
}

}  // namespace

const std::vector<std::string>& run_cells() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const size_t column : run_columns()) out.push_back(publish::columns()[column].name);
    out.insert(out.end(), {"envelope_sha256", "tags_json"});
    return out;
  }();
  return names;
}

const std::vector<std::string>& row_cells() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const size_t column : row_columns()) out.push_back(publish::columns()[column].name);
    out.insert(out.end(), {"rate_basis", "tags_json"});
    return out;
  }();
  return names;
}

ShardFacts read_facts(std::string_view name, std::string_view bytes) {
  ShardFacts facts;
  facts.sha256 = sha256_hex(bytes);
  const auto footer = read_footer(bytes);
  if (!footer) {
    // Arrow has the last word on whether it is a Parquet file.
    read_columns(bytes, footer.refusal().detail, facts);
    return facts;
  }
  facts.rows = footer->rows;
  const std::string_view text = footer->find("envelope");
  const std::string_view digest = footer->find("envelope_sha256");
  if (footer->find("row_schema") != "1" || text.empty()) {
    read_columns(bytes, "no envelope in its footer", facts);
    return facts;
  }
  const std::string_view digits = publish::digest_in_name(name);
  if (!digits.empty() && !std::string_view(facts.sha256).starts_with(digits)) {
    leave_out(facts, Refusal(kShardName, cat("the digest of its bytes begins with ",
                                             facts.sha256.substr(0, digits.size()),
                                             ", its name says ", digits)));
    return facts;
  }
  const bool listed = footer->rows <= kListedRowsMax;
  // The footer of a very large run leaves the results out; then the digest is not the text's own.
  const bool whole = sha256_hex(text) == digest;
  auto document = json::parse(text);
  auto envelope =
      document ? publish::from_json(*document) : Result<publish::Envelope>(document.refusal());
  if (!envelope || (!whole && !envelope->results.empty())) {
    read_columns(bytes, "the envelope in its footer is not the one that its digest names", facts);
    return facts;
  }
  const size_t rows = std::max<size_t>(envelope->results.size(), 1);
  if (listed && (!whole || rows != footer->rows)) {
    read_columns(bytes, "the envelope in its footer does not hold its rows", facts);
    return facts;
  }
  Table table = table_of(*envelope, listed);
  table.envelope_sha256 = digest;
  encode(table, facts);
  if (!listed) {
    facts.problem =
        Refusal(kShardLarge, cat(footer->rows, " rows, at most ", kListedRowsMax, " are listed"))
            .text();
  }
  return facts;
}

void append_cell(std::string& cells, std::string_view json) {
  // Length in base 128, low digits first, high bit = more follow.
  size_t length = json.size();
  while (length >= 128) {
    cells.push_back(static_cast<char>(length % 128 + 128));
    length /= 128;
  }
  cells.push_back(static_cast<char>(length));
  cells.append(json);
}

std::string_view CellReader::next() {
  size_t length = 0, shift = 0;
  while (true) {
    if (rest_.empty() || shift > 56) {
      ok_ = false;
      return {};
    }
    const auto byte = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    length |= static_cast<size_t>(byte & 127U) << shift;
    if (byte < 128) break;
    shift += 7;
  }
  if (length > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view cell = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return cell;
}

std::string mended_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;
    while (length <= 4 && i + length <= text.size() && !is_utf8(text.substr(i, length))) ++length;
    if (length <= 4 && i + length <= text.size()) {
      out += text.substr(i, length);
      i += length;
    } else {
      out += "\xEF\xBF\xBD";
      ++i;
    }
  }
  return out;
}

std::string json_text(std::string_view text) {
  std::string out;
  json::append_quoted(out, is_utf8(text) ? text : std::string_view(mended_utf8(text)));
  return out;
}

}  // namespace assay::view
