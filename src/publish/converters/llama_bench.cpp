// llama-bench: -o json, jsonl, csv and md. One record is one test; records of one model are one
// envelope. What it times is the computation alone: no tokenizer, no sampling, no server (tag
// measures=compute_only).
#include <algorithm>
#include <cmath>
#include <map>

#include "base/ascii.h"
#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"
#include "publish/validate.h"

namespace assay::publish {

namespace {

struct Record {
  json::Node fields{};  // as the tool names them, values typed or as text
  int64_t n_prompt = 0, n_gen = 0, n_depth = 0;
  std::optional<double> average{};         // tokens per second; of no finite number nothing
  std::optional<std::string> deviation{};  // source text
  std::string problem{};                   // for errors[]; empty when the record is whole
};

std::string label_of(const Record& record) {
  std::string label;
  if (record.n_gen == 0) {
    label = cat("pp", record.n_prompt);
  } else if (record.n_prompt == 0) {
    label = cat("tg", record.n_gen);
  } else {
    label = cat("pp", record.n_prompt, "+tg", record.n_gen);
  }
  if (record.n_depth > 0) label += cat(" @ d", record.n_depth);
  return label;
}

std::string_view metric_of(const Record& record) {
  if (record.n_gen == 0) return "throughput_prompt_toks_per_s";
  if (record.n_prompt == 0) return "decode_toks_per_s";
  return "throughput_total_toks_per_s";
}

Refusal wrong(std::string detail) {
  return Refusal(kConvertInput, cat("llama-bench: ", detail));
}

// --- json, jsonl, csv: records by field name
// -------------------------------------------------------------

Result<Record> record_of(json::Node fields) {
  Record record;
  const auto integer = [&fields](std::string_view key) -> std::optional<int64_t> {
    const json::Node value = fields.find(key);
    if (const auto number = integer_of(value)) return number;
    return value.is_string() ? parse_int64(value.string()) : std::nullopt;
  };
  const auto real = [&fields](std::string_view key) -> std::optional<double> {
    const json::Node value = fields.find(key);
    if (const auto number = number_of(value)) return number;
    const auto parsed = value.is_string() ? parse_double(value.string()) : std::nullopt;
    return parsed && std::isfinite(*parsed) ? parsed : std::nullopt;
  };
  const auto prompt = integer("n_prompt");
  const auto gen = integer("n_gen");
  const auto average = real("avg_ts");
  if (!prompt || !gen || !fields.find("avg_ts") || *prompt < 0 || *gen < 0 || *prompt + *gen == 0) {
    return wrong("a record needs n_prompt, n_gen and avg_ts");
  }
  record.n_prompt = *prompt;
  record.n_gen = *gen;
  record.n_depth = integer("n_depth").value_or(0);
  record.average = average;
  record.fields = fields;
  if (!average) {
    // A NaN in JSON is named with all others of its file.
    const json::Node said = fields.find("avg_ts");
    if (!said.is_number())
      record.problem = cat(label_of(record), ": avg_ts is \"", text_of(said).value_or("null"),
                           "\", no finite number; left out");
    return record;
  }
  record.deviation = text_of(fields.find("stddev_ts"));
  const json::Node samples = fields.find("samples_ts");
  if (samples.is_array() && !samples.items().empty()) {
    double sum = 0;
    bool all = true;
    for (json::Node sample : samples.items()) {
      all = all && number_of(sample);
      sum += number_of(sample).value_or(0);
    }
    const double mean = sum / static_cast<double>(samples.items().size());
    if (all && !(std::fabs(mean - *average) < 1e-3 * *average)) {
      return wrong(cat("avg_ts ", *average, " is not the mean of samples_ts, ", mean));
    }
  }
  return record;
}

// One CSV line; quotes double inside quotes.
std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back().push_back('"');
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back().push_back(c);
    }
  }
  return cells;
}

// A line whose cells do not match its header (llama.cpp's own documentation has such lines): its
// beginning can be trusted as far as the model, where the model's file and size stand in their
// columns. False where they do not.
bool add_head_fields(json::Value& fields, const std::vector<std::string>& header,
                     const std::vector<std::string>& cells) {
  const auto place = [&header](std::string_view name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const size_t file = place("model_filename"), size = place("model_size");
  if (file > size || size >= std::min(cells.size(), header.size())) return false;
  if (!cells[file].ends_with(".gguf") || cells[size].empty() || !all_digits(cells[size]))
    return false;
  for (size_t i = 0; i <= size; ++i) {
    if (fields.find(header[i]) == nullptr) fields.set(header[i], cells[i]);
  }
  return true;
}

// Its end is found by its time stamp, and only the columns there can be trusted. Empty when there
// is none.
json::Value tail_fields(const std::vector<std::string>& header,
                        const std::vector<std::string>& cells) {
  json::Value fields = json::Value::object();
  const auto named = std::find(header.begin(), header.end(), "test_time");
  const auto found = std::find_if(cells.begin(), cells.end(), [](const std::string& cell) {
    return parse_utc(cell).has_value();
  });
  if (named == header.end() || found == cells.end() ||
      header.end() - named != cells.end() - found) {
    return fields;
  }
  constexpr std::ptrdiff_t kBefore = 3;  // n_prompt, n_gen, n_depth
  if (named - header.begin() < kBefore || found - cells.begin() < kBefore) return fields;
  auto cell = found - kBefore;
  for (auto name = named - kBefore; name != header.end(); ++name, ++cell) fields.set(*name, *cell);
  return fields;
}

// The lines of a table as the objects that the tool's JSON would hold.
Result<json::Document> document_of(std::vector<json::Value> lines) {
  return json::Document::parse(json::write(json::Value::array(std::move(lines))));
}

// `table` becomes what the records point into.
Result<std::vector<Record>> read_csv(std::string_view text, json::Document& table) {
  std::vector<json::Value> lines;
  std::vector<std::string> problems;
  std::vector<std::string> header;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    std::vector<std::string> cells = csv_cells(line);
    if (header.empty()) {
      header = std::move(cells);
      continue;
    }
    json::Value fields = json::Value::object();
    std::string problem;
    if (cells.size() == header.size()) {
      for (size_t i = 0; i < cells.size(); ++i) fields.set(header[i], std::move(cells[i]));
    } else {
      problem = cat("a CSV line has ", cells.size(), " cells, its header ", header.size());
      fields = tail_fields(header, cells);
      if (fields.members().empty()) return wrong(problem);
      problem += add_head_fields(fields, header, cells)
                     ? ": only the columns up to model_size and from n_prompt on were read"
                     : ": only the columns from n_prompt on were read";
    }
    lines.push_back(std::move(fields));
    problems.push_back(std::move(problem));
  }
  TRY(document, document_of(std::move(lines)));
  table = std::move(document);
  std::vector<Record> records;
  for (const json::Node fields : table.values().front().items()) {
    TRY(record, record_of(fields));
    const std::string& problem = problems[records.size()];
    if (!problem.empty()) record.problem = problem;
    records.push_back(std::move(record));
  }
  return records;
}

// --- md: pipe tables anywhere in a log
// ---------------------------------------------------------------------

std::vector<std::string> pipe_cells(std::string_view line) {
  std::vector<std::string> cells;
  line = trim(line);
  if (!line.starts_with('|') || !line.ends_with('|') || line.size() < 2) return cells;
  for (const std::string_view cell : split(line.substr(1, line.size() - 2), '|'))
    cells.emplace_back(trim(cell));
  return cells;
}

// "pp512", "pp 512", "tg128 @ d512", "pp512+tg128".
bool read_test(std::string_view text, Record& record) {
  std::string compact;
  for (const char c : text) {
    if (c != ' ') compact.push_back(c);
  }
  const size_t at = compact.find("@d");
  if (at != std::string::npos) {
    const auto depth = parse_int64(std::string_view(compact).substr(at + 2));
    if (!depth) return false;
    record.n_depth = *depth;
    compact.resize(at);
  }
  for (const std::string_view part : split(compact, '+')) {
    const auto count = part.size() > 2 ? parse_int64(part.substr(2)) : std::nullopt;
    if (!count || *count <= 0) return false;
    if (part.starts_with("pp")) {
      record.n_prompt = *count;
    } else if (part.starts_with("tg")) {
      record.n_gen = *count;
    } else {
      return false;
    }
  }
  return true;
}

Result<std::vector<Record>> read_markdown(std::string_view text, json::Document& table) {
  std::vector<Record> records;
  std::vector<json::Value> lines;  // of each record
  std::vector<std::string> header;
  size_t first_without_build = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view trimmed = trim(line);
    if (trimmed.starts_with("build: ")) {
      // "build: COMMIT (NUMBER)" belongs to the tables since the last such line.
      const std::string_view rest = trimmed.substr(7);
      const size_t open = rest.find(" (");
      for (size_t i = first_without_build; i < records.size(); ++i) {
        lines[i].set("build_commit", json::Value(rest.substr(0, open)));
        if (open != std::string_view::npos && rest.ends_with(')')) {
          lines[i].set("build_number", json::Value(rest.substr(open + 2, rest.size() - open - 3)));
        }
      }
      first_without_build = records.size();
      continue;
    }
    std::vector<std::string> cells = pipe_cells(line);
    if (cells.empty()) {
      if (trimmed.empty()) header.clear();
      continue;
    }
    if (std::find(cells.begin(), cells.end(), "t/s") != cells.end() &&
        std::find(cells.begin(), cells.end(), "test") != cells.end()) {
      header = std::move(cells);
      continue;
    }
    if (header.empty() || cells[0].find_first_not_of("-: ") == std::string::npos) continue;
    if (cells.size() != header.size()) {
      return wrong(cat("a table row has ", cells.size(), " cells, its header ", header.size()));
    }
    Record record;
    json::Value& fields = lines.emplace_back(json::Value::object());
    bool test = false, rate = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (header[i] == "test") {
        test = read_test(cells[i], record);
      } else if (header[i] == "t/s") {
        const size_t plus_minus = cells[i].find("±");
        const auto mean = parse_double(trim(std::string_view(cells[i]).substr(0, plus_minus)));
        if (mean && std::isfinite(*mean)) {
          record.average = *mean;
          rate = true;
        }
        if (plus_minus != std::string::npos) {
          record.deviation = std::string(
              trim(std::string_view(cells[i]).substr(plus_minus + std::string_view("±").size())));
        }
      } else {
        fields.set(header[i] == "model" ? "model_type" : header[i], json::Value(cells[i]));
      }
    }
    if (!test || !rate) return wrong(cat("cannot read the table row `", trimmed, "`"));
    records.push_back(std::move(record));
  }
  TRY(document, document_of(std::move(lines)));
  table = std::move(document);
  size_t next = 0;
  for (const json::Node fields : table.values().front().items()) records[next++].fields = fields;
  return records;
}

// --- records to drafts
// ----------------------------------------------------------------------------------------

Draft draft_of(std::string_view model, const std::vector<const Record*>& records) {
  Draft draft;
  draft.model = std::string(model);
  const json::Node first = records[0]->fields;
  if (const auto time = text_of(first.find("test_time"))) draft.timestamp = time;
  draft.quantization = text_of(first.find("model_type"));
  json::Value system = json::Value::object();
  if (const auto cpu = text_of(first.find("cpu_info")); cpu && !cpu->empty())
    system.set("chip", *cpu);
  if (const auto gpu = text_of(first.find("gpu_info")); gpu && !gpu->empty()) {
    system.set("gpu", json::Value::object({{"model", *gpu}}));
  }
  system.set("engine", json::Value::object({{"name", "llama.cpp"}}));
  if (const auto build = text_of(first.find("build_commit")))
    system.find("engine")->set("version", *build);
  draft.system = std::move(system);
  int64_t prompt_min = INT64_MAX, prompt_max = 0, gen_max = 0;
  draft.results.reserve(records.size());
  for (const Record* record : records) {
    if (!record->problem.empty()) draft.errors.push_back(record->problem);
    if (!record->average) continue;
    const std::string label = label_of(*record);
    ResultRow* row = add_row(draft, label, metric_of(*record), "tok/s", record->average);
    if (const auto ns = number_of(record->fields.find("avg_ns"))) {
      row->duration_seconds = *ns / 1e9;
    } else if (const auto text = text_of(record->fields.find("avg_ns"))) {
      if (const auto parsed = parse_double(*text)) row->duration_seconds = *parsed / 1e9;
    }
    row->tags.reserve(28, 512);
    row->tag("rate_basis", "compute_only");
    row->tag("measures", "compute_only");
    if (record->deviation) row->tag("stddev_ts", *record->deviation);
    const json::Node samples = record->fields.find("samples_ts");
    if (samples.is_array()) row->tag("repetitions", cat(samples.items().size()));
    for (const auto& [key, value] : record->fields.members()) {
      const bool config = key.starts_with("n_") || key == "type_k" || key == "type_v" ||
                          key == "flash_attn" || key == "fa" || key == "split_mode" ||
                          key == "backends" || key == "backend" || key == "ngl" ||
                          key == "threads" || key == "build_commit" || key == "build_number" ||
                          key == "size" || key == "params";
      if (!config) continue;
      if (const auto text = text_of(value)) row->tag(key, *text);
    }
    prompt_min = std::min(prompt_min, record->n_prompt + record->n_depth);
    prompt_max = std::max(prompt_max, record->n_prompt + record->n_depth);
    gen_max = std::max(gen_max, record->n_gen);
  }
  draft.regime = json::Value::object({{"prompt_tokens_min", prompt_min},
                                      {"prompt_tokens_max", prompt_max},
                                      {"max_tokens", gen_max},
                                      {"concurrency", 1},
                                      {"streaming", false},
                                      {"rate_basis", "compute_only"},
                                      {"aggregation", "mean"}});
  draft.cache = json::Value::object({{"prefix_policy", "unknown"}});
  return draft;
}

}  // namespace

Result<std::vector<Draft>> convert_llama_bench(const ToolFile& file, const RunContext&) {
  std::vector<Record> records;
  json::Document table;
  if (!file.document.empty()) {
    const auto add = [&records](json::Node item) -> Status {
      if (!item.is_object()) return wrong("expected objects");
      TRY(record, record_of(item));
      records.push_back(std::move(record));
      return {};
    };
    for (const json::Node value : file.values()) {
      if (!value.is_array()) {
        TRY_DO(add(value));
        continue;
      }
      for (const json::Node item : value.items()) TRY_DO(add(item));
    }
  } else {
    const std::string_view text = trim(file.text);
    const std::string_view first_line = text.substr(0, text.find('\n'));
    auto read = first_line.find("avg_ts") != std::string_view::npos ? read_csv(text, table)
                                                                    : read_markdown(text, table);
    if (!read) return std::move(read).refusal();
    records = *std::move(read);
  }
  if (records.empty()) return Refusal(kNothingToPublish, "llama-bench: no test record found");
  std::vector<std::string_view> order;
  std::map<std::string_view, std::vector<const Record*>> by_model;
  for (const Record& record : records) {
    std::string_view model = text_of(record.fields.find("model_filename")).value_or("");
    model.remove_prefix(model.find_last_of("/\\") + 1);  // npos + 1 is 0
    if (model.empty()) model = text_of(record.fields.find("model_type")).value_or("");
    std::vector<const Record*>& same = by_model[model];
    if (same.empty()) order.push_back(model);
    same.push_back(&record);
  }
  std::vector<Draft> drafts;
  for (const std::string_view model : order) drafts.push_back(draft_of(model, by_model[model]));
  return drafts;
}

}  // namespace assay::publish
