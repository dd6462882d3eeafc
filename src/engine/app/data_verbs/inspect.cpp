// The verb inspect: what is in a GGUF model.
#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <span>

#include "base/text.h"
#include "engine/app/data_verbs/data_verbs.h"
#include "engine/gguf/file.h"
#include "engine/gguf/name_text.h"
#include "engine/tokenizer/streaming_text.h"

namespace assay::engine::app {
namespace {

using gguf::Entry;
using gguf::ValueType;

constexpr uint64_t kItemsShown = 8;  // of an array
constexpr size_t kTextShown = 70;    // of a string, in the table

// Which part of a model a tensor belongs to, by its name.
struct Family {
  std::string_view name;
  std::array<std::string_view, 4> parts;  // any of these in "." + name; empty = none more
};
constexpr Family kFamilies[] = {
    {"per-layer embedding", {"per_layer_token_embd"}},
    {"embedding and output", {".token_embd", ".output."}},
    {"draft head", {"nextn."}},
    {"experts", {"_exps."}},
    {"hyper-connections", {"hc_"}},
    {"indexer", {"indexer."}},
    {"norms", {"_norm.", ".norm."}},
    {"router", {"ffn_gate_inp"}},
    {"linear attention", {"ssm_", "attn_gate", "attn_qkv"}},
    {"attention", {"attn_"}},
    {"feed-forward", {"ffn_"}},
};

std::string_view family_of(std::string_view tensor_name) {
  const std::string tensor = cat(".", tensor_name);
  for (const Family& family : kFamilies) {
    for (const std::string_view part : family.parts) {
      if (!part.empty() && tensor.find(part) != std::string::npos) return family.name;
    }
  }
  return "other";
}

struct FamilySum {
  std::string_view name;
  uint64_t n_tensors = 0;
  uint64_t bytes = 0;
};

std::vector<FamilySum> sum_families(const gguf::File& file) {
  std::vector<FamilySum> sums;
  for (const gguf::Tensor& tensor : file.tensors()) {
    const std::string_view name = family_of(tensor.name);
    auto at = std::find_if(sums.begin(), sums.end(),
                           [&](const FamilySum& sum) { return sum.name == name; });
    if (at == sums.end()) at = sums.insert(sums.end(), {name, 0, 0});
    ++at->n_tensors;
    at->bytes += tensor.data.size();
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const FamilySum& a, const FamilySum& b) { return a.bytes > b.bytes; });
  return sums;
}

uint64_t weight_count(const gguf::File& file) {
  uint64_t total = 0;
  for (const gguf::Tensor& tensor : file.tensors()) total += tensor.element_count();
  return total;
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

json::Value scalar_json(ValueType type, const std::byte* at) {
  switch (type) {
    case ValueType::u8: return static_cast<uint64_t>(load<uint8_t>(at));
    case ValueType::i8: return static_cast<int64_t>(load<int8_t>(at));
    case ValueType::u16: return static_cast<uint64_t>(load<uint16_t>(at));
    case ValueType::i16: return static_cast<int64_t>(load<int16_t>(at));
    case ValueType::u32: return static_cast<uint64_t>(load<uint32_t>(at));
    case ValueType::i32: return static_cast<int64_t>(load<int32_t>(at));
    case ValueType::u64: return load<uint64_t>(at);
    case ValueType::i64: return load<int64_t>(at);
    case ValueType::f32: return static_cast<double>(load<float>(at));
    case ValueType::f64: return load<double>(at);
    case ValueType::boolean: return load<uint8_t>(at) != 0;
    default: return {};
  }
}

json::Value string_json(std::string_view text) {
  return tokenizer::to_utf8_lossy(text);
}

// The first items of an array; nested arrays are only counted.
json::Value items_json(const Entry& entry) {
  auto items = json::Value::array();
  if (entry.item_type == ValueType::string) {
    for (const std::string_view text : gguf::StringArray(entry.bytes.data(), entry.item_count)) {
      if (items.items().size() == kItemsShown) break;
      items.items().push_back(string_json(text));
    }
  } else if (const size_t size = gguf::value_size(entry.item_type); size != 0) {
    for (uint64_t i = 0; i < std::min(entry.item_count, kItemsShown); ++i) {
      items.items().push_back(scalar_json(entry.item_type, entry.bytes.data() + i * size));
    }
  }
  return items;
}

json::Value value_json(const Entry& entry) {
  if (entry.type == ValueType::string) {
    return string_json({reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()});
  }
  if (entry.type == ValueType::array) return items_json(entry);
  return scalar_json(entry.type, entry.bytes.data());
}

json::Value entry_json(const Entry& entry) {
  auto value = json::Value::object({{"key", entry.key}, {"type", value_type_name(entry.type)}});
  if (entry.type == ValueType::array) {
    value.set("item_type", value_type_name(entry.item_type));
    value.set("count", entry.item_count);
    value.set("first_items", value_json(entry));
  } else {
    value.set("value", value_json(entry));
  }
  return value;
}

json::Value tensor_json(const gguf::Tensor& tensor) {
  return json::Value::object(
      {{"name", tensor.name},
       {"type",
        tensor.type != nullptr ? std::string(tensor.type->name) : gguf::type_label(tensor.type_id)},
       {"type_id", tensor.type_id},
       {"dims", json::Value::array_of(std::span(tensor.dims).first(tensor.n_dims))},
       {"bytes", static_cast<uint64_t>(tensor.data.size())},
       {"shard", tensor.shard},
       {"offset", tensor.file_offset}});
}

Result<std::string> architecture_of(const gguf::File& file) {
  TRY(name, file.metadata().string_or("general.architecture", ""));
  return std::string(name);
}

Result<json::Value> file_json(const gguf::File& file) {
  TRY(architecture, architecture_of(file));
  auto files = json::Value::array();
  for (const gguf::ShardFile& shard : file.shards()) {
    files.items().push_back(
        json::Value::object({{"path", shard.path.string()}, {"size_bytes", shard.size_bytes}}));
  }
  auto families = json::Value::array();
  for (const FamilySum& sum : sum_families(file)) {
    families.items().push_back(json::Value::object(
        {{"family", sum.name}, {"tensors", sum.n_tensors}, {"bytes", sum.bytes}}));
  }
  auto metadata = json::Value::array();
  for (const Entry& entry : file.metadata().entries()) {
    metadata.items().push_back(entry_json(entry));
  }
  auto tensors = json::Value::array();
  for (const gguf::Tensor& tensor : file.tensors()) tensors.items().push_back(tensor_json(tensor));
  return json::Value::object({{"files", std::move(files)},
                              {"version", file.version()},
                              {"alignment", file.alignment()},
                              {"architecture", std::move(architecture)},
                              {"parameters", weight_count(file)},
                              {"data_bytes", file.data_bytes()},
                              {"families", std::move(families)},
                              {"metadata", std::move(metadata)},
                              {"tensors", std::move(tensors)}});
}

// Text cells padded to the widest of their column; numbers (`right`) to the right.
class Table {
 public:
  explicit Table(std::vector<bool> right) : right_(std::move(right)), widths_(right_.size()) {}
  void add(std::vector<std::string> cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }
  void print() const {
    for (const auto& row : rows_) {
      std::string line = " ";
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string gap(widths_[i] - row[i].size(), ' ');
        line += cat(" ", right_[i] ? gap : "", row[i], right_[i] ? "" : gap);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      std::cout << line << "\n";
    }
  }

 private:
  std::vector<bool> right_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

std::string shortened(std::string text) {
  if (text.size() <= kTextShown) return text;
  size_t cut = kTextShown;
  while (cut > 0 && (static_cast<uint8_t>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + "…";
}

// A name for the terminal: without the backquotes of messages.
std::string plain(std::string_view name) {
  const std::string text = gguf::name_text(name);
  return text.substr(1, text.size() - 2);
}

Status print(const gguf::File& file, std::string_view title) {
  TRY(architecture, architecture_of(file));
  std::cout << title << "\n";
  for (const gguf::ShardFile& shard : file.shards()) {
    std::cout << cat("  ", shard.path.string(), "  ", shard.size_bytes, " bytes\n");
  }
  std::cout << cat("  GGUF version ", file.version(), ", alignment ", file.alignment(),
                   ", architecture ", architecture.empty() ? "not named" : plain(architecture),
                   "\n  ", file.tensors().size(), " tensors, ", weight_count(file), " parameters, ",
                   file.data_bytes(), " bytes of weights\n");

  std::cout << "\nBytes per family\n";
  Table families({false, true, true});
  for (const FamilySum& sum : sum_families(file)) {
    families.add({std::string(sum.name), cat(sum.n_tensors), cat(sum.bytes)});
  }
  families.print();

  std::cout << "\nMetadata\n";
  Table metadata({false, false, false});
  for (const Entry& entry : file.metadata().entries()) {
    const bool is_array = entry.type == ValueType::array;
    metadata.add({plain(entry.key),
                  is_array ? cat(value_type_name(entry.item_type), "[", entry.item_count, "]")
                           : value_type_name(entry.type),
                  shortened(json::write(value_json(entry)))});
  }
  metadata.print();

  std::cout << "\nTensors\n";
  Table tensors({false, false, false, true});
  for (const gguf::Tensor& tensor : file.tensors()) {
    tensors.add(
        {plain(tensor.name),
         tensor.type != nullptr ? std::string(tensor.type->name) : gguf::type_label(tensor.type_id),
         dims_text(tensor), cat(tensor.data.size())});
  }
  tensors.print();
  return {};
}

int inspect(const cli::Invocation& args) {
  const auto fail = [&](const Refusal& refusal) { return args.refuse(refusal, cli::kInputOutput); };
  const auto model = gguf::open_model(args.arguments("MODEL").front());
  if (!model) return fail(model.refusal());
  if (args.json()) {
    auto value = file_json(model->model);
    if (!value) return fail(value.refusal());
    if (model->head) {
      auto head = file_json(*model->head);
      if (!head) return fail(head.refusal());
      value->set("head", std::move(*head));
    }
    std::cout << json::write(*value) << "\n";
    return cli::kOk;
  }
  if (const auto printed = print(model->model, "Model"); !printed) return fail(printed.refusal());
  if (model->head) {
    std::cout << "\n";
    if (const auto printed = print(*model->head, "Draft head"); !printed) {
      return fail(printed.refusal());
    }
  }
  return cli::kOk;
}

}  // namespace

cli::Command inspect_command() {
  return {.name = "inspect",
          .summary = "Show what is in a GGUF model",
          .example = "assay-engine inspect model.gguf",
          .positionals = {{.name = "MODEL",
                           .help = "A GGUF file, the first shard of a set, or a folder."}},
          .run = inspect,
          .notes =
              "Arrays show their first 8 items. Every bound is checked before anything is "
              "shown; nothing is computed."};
}

}  // namespace assay::engine::app
