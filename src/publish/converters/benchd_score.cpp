// benchd-score: a sealed score.json of our judge, with the integrity file beside it. The rows carry
// the whole run: figures to compare, the legs as points, the gates, the verdicts, and one row with
// every sealed fact and how to check it. Layout: docs/formats/benchd_score_record.md.
#include <limits>
#include <set>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr uint64_t kSealMax = uint64_t{16} << 20;
constexpr std::string_view kIntegrityNames[] = {"benchmark-integrity.json",
                                                "benchmark-integrity.local-iterate.json"};

struct Phase {
  std::string_view phase;
  std::string_view seconds;  // last part of the key that holds seconds per token
  std::string_view metric;
  std::string_view basis;
};
constexpr Phase kDecode{"decode", "decode_window_seconds_per_token", "decode_toks_per_s",
                        "decode_window"};
constexpr Phase kPrefill{"prefill", "prefill_seconds_per_token", "throughput_prompt_toks_per_s",
                         "prefill_window"};
constexpr Phase kSeedPrefill{"seed_prefill", "seed_prefill_window_seconds_per_token",
                             "seed_prefill_toks_per_s", "prefill_window"};

struct Integrity {
  std::string name{};  // "" when there is none that belongs to the score
  std::string sha256{};
  json::Document document{};
  std::optional<std::string> problem{};

  [[nodiscard]] json::Node root() const { return document.values().front(); }
};

// The integrity file beside the score, if it is this score's.
Integrity integrity_of(const std::filesystem::path& score, const std::string& score_sha256) {
  Integrity out;
  for (const std::string_view name : kIntegrityNames) {
    const auto bytes = read_file(score.parent_path() / name, kSealMax);
    if (!bytes) continue;
    auto document = json::Document::parse(*bytes);
    Integrity found;
    if (document) found.document = *std::move(document);
    if (found.document.values().size() != 1 || !found.root().is_object()) {
      out.problem = cat(name, " beside the score is no JSON object");
    } else if (text_of(found.root().find("score_sha256")) != score_sha256) {
      out.problem = cat(name, " beside the score belongs to another score");
    } else {
      found.name = name;
      found.sha256 = sha256_hex(*bytes);
      return found;
    }
  }
  return out;
}

// Every text, number and boolean below `value` as a tag; the path is the key.
void flatten(ResultRow& row, std::set<std::string>& seen, const std::string& path,
             json::Node value) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.members())
      flatten(row, seen, cat(path, ".", key), member);
  } else if (value.is_array()) {
    size_t i = 0;
    for (const json::Node item : value.items()) flatten(row, seen, cat(path, ".", i++), item);
  } else if (const auto text = text_of(value); text && !text->empty() && seen.insert(path).second) {
    row.tag(path, *text);
  }
}

void tag_text(ResultRow& row, std::string_view key, json::Node value) {
  if (const auto text = text_of(value); text && !text->empty()) row.tag(key, *text);
}

class Conversion {
 public:
  Conversion(json::Node root, json::Node metrics) : root_(root), metrics_(metrics) {}

  Draft run(const ToolFile& file) {
    draft_.model = text_of(metrics_.find("model_id"));
    if (!draft_.model || draft_.model->empty()) draft_.model = text_of(metrics_.find("track_id"));
    draft_.timestamp = text_of(metrics_.find("timestamp"));
    draft_.concurrency = 1;
    right_ = tokens_were_right();
    const auto error = text_of(metrics_.find("error")).value_or("");
    if (right_) {
      add_gains();
      for (const auto& [leg, prefix] :
           {std::pair{"candidate", "candidate_leg_"}, {"control", "baseline_leg_"}}) {
        for (const Phase& phase : {kDecode, kPrefill}) add_rate(leg, leg, phase, metrics_, prefix);
      }
      add_legs();
      if (!error.empty()) draft_.errors.emplace_back(error);
    } else {
      draft_.cell_status = "failed";
      draft_.errors.push_back(cat("correctness not passed: ", error));
    }
    add_gates();
    add_correctness();
    add_seal(file);
    tag_every_row();
    add_conditions();
    return std::move(draft_);
  }

 private:
  // A run that missed a floor is sealed with passed_correctness false; local_phases says what the
  // engine's tokens were.
  [[nodiscard]] bool tokens_were_right() const {
    const json::Node correct = metrics_.find("passed_correctness");
    return (correct.is_true()) || text_of(metrics_.at({"local_phases", "correctness"})) == "passed";
  }

  void add_gains() {
    ResultRow* composite =
        add_row(draft_, "composite", "composite", "x", number_of(root_.find("score")));
    json::Node uncertainty = metrics_.find("uncertainty");
    if (!uncertainty.is_object()) uncertainty = {};
    if (composite != nullptr && uncertainty) {
      add_interval(*composite, uncertainty.find("composite"));
      tag_text(*composite, "confidence", uncertainty.find("confidence"));
      tag_text(*composite, "interval_method", uncertainty.find("method"));
      tag_text(*composite, "interval_pairs", uncertainty.find("pairs"));
      for (const char* key : {"detectable_change", "order_effect", "aa_composite"})
        tag_text(*composite, key, uncertainty.find(key));
    }
    for (const char* axis : {"decode", "prefill"}) {
      ResultRow* gain = add_row(draft_, "composite", cat(axis, "_gain"), "x",
                                number_of(metrics_.find(cat(axis, "_speedup"))));
      if (gain == nullptr) continue;
      if (uncertainty) add_interval(*gain, uncertainty.find(cat(axis, "_speedup")));
      tag_text(*gain, "floor", metrics_.find(cat(axis, "_speedup_floor")));
      tag_text(*gain, "floor_passed", metrics_.find(cat("passed_", axis, "_speedup_floor")));
      tag_text(*gain, "weight", metrics_.find(cat("score_", axis, "_weight")));
      for (const char* term : {"band_up_tolerance", "band_down_tolerance", "band_down_enabled"})
        tag_text(*gain, term, metrics_.at({"acceptance_bands", cat(axis, "_", term)}));
    }
  }

  static void add_interval(ResultRow& row, json::Node interval) {
    if (!interval.is_object()) return;
    for (const char* bound : {"low", "center", "high"})
      tag_text(row, cat(row.metric, "_", bound), interval.find(bound));
  }

  // 1 / seconds per token, where the document has the phase. The exact seconds are a tag.
  ResultRow* add_rate(std::string_view name, std::string_view leg, const Phase& phase,
                      json::Node object, std::string_view prefix) {
    const json::Node seconds = object.find(cat(prefix, phase.seconds));
    const auto number = number_of(seconds);
    // A subnormal time has no finite rate.
    if (!number || *number <= 0 || !(1 / *number <= std::numeric_limits<double>::max()))
      return nullptr;
    ResultRow* row = add_row(draft_, name, phase.metric, "tok/s", 1 / *number);
    row->tag("leg", leg);
    row->tag("phase", phase.phase);
    row->tag("rate_basis", phase.basis);
    tag_text(*row, "seconds_per_token", seconds);
    return row;
  }

  void add_legs() {
    const json::Node pairs = metrics_.find("paired_legs");
    if (!pairs.is_array()) return;
    for (json::Node pair : pairs.items()) {
      if (!pair.is_object()) continue;
      for (const char* leg : {"control", "candidate"}) {
        for (const Phase& phase : {kDecode, kPrefill, kSeedPrefill}) {
          ResultRow* row = add_rate("leg", leg, phase, pair, cat(leg, "_"));
          if (row == nullptr) continue;
          tag_text(*row, "pair", pair.find("pair"));
          tag_text(*row, "prompt_sha256", pair.find("prompt_sha256"));
          if (std::string_view(leg) != "candidate" || phase.phase != "decode") continue;
          for (const auto& [key, value] : pair.members()) {
            if (key.starts_with("token_mismatch_")) tag_text(*row, key, value);
          }
        }
      }
    }
  }

  void add_gates() {
    const json::Node gates = metrics_.find("gates");
    size_t next = 0;
    for (const json::Node gate : gates.items()) {
      const size_t i = next++;
      for (const char* kind : {"quiescence", "cool"}) {
        const json::Node found = gate.find(kind);
        if (!found.is_object()) continue;
        ResultRow* row = add_row(draft_, "gate", cat(kind, "_waited_s"), "s",
                                 number_of(found.find("waited_seconds")));
        if (row == nullptr) continue;
        row->tag("gate_index", cat(i));
        for (const char* key : {"pair", "leg", "phase"}) tag_text(*row, key, gate.find(key));
        for (const char* key : {"state", "skip_reason", "load", "gpu_util", "gpu_temp_c"})
          tag_text(*row, key, found.find(key));
      }
    }
  }

  void add_correctness() {
    ResultRow* row = add_row(draft_, "correctness", "checked_steps", "tokens",
                             number_of(metrics_.find("checked_steps")));
    if (row == nullptr) return;
    const auto local = text_of(metrics_.at({"local_phases", "correctness"}));
    row->tag("verdict", local ? *local : right_ ? "passed" : "failed");
    for (const char* key :
         {"case_count", "first_failing_case", "first_failing_step", "first_failing_layer"})
      tag_text(*row, key, metrics_.find(key));
  }

  void add_seal(const ToolFile& file) {
    const auto bytes = read_file(file.path, kSealMax);
    const std::string score_sha256 = bytes ? sha256_hex(*bytes) : "";
    Integrity integrity;
    if (bytes) integrity = integrity_of(file.path, score_sha256);
    if (integrity.name.empty() && integrity.problem) draft_.errors.push_back(*integrity.problem);

    ResultRow* row = add_row(draft_, "seal", "weights_bytes", "bytes",
                             number_of(metrics_.find("weights_byte_count")).value_or(0));
    const std::string name = file.path.filename().string();
    std::set<std::string> seen;
    if (bytes && is_utf8(name) && !has_control_character(name)) {
      row->tag("score_file", name);
      row->tag("score_sha256", score_sha256);
      row->tag("verify", cat("benchd score verify ", name));
    }
    if (!integrity.name.empty()) {
      row->tag("integrity_file", integrity.name);
      row->tag("integrity_sha256", integrity.sha256);
      flatten(*row, seen, "integrity", integrity.root());
    }
    for (const auto& [key, value] : metrics_.members()) {
      // Legs and gates have rows; the tokens of a golden are nobody's business.
      if (key == "paired_legs" || key == "gates" || key == "expected_token" ||
          key == "actual_token")
        continue;
      flatten(*row, seen, cat("metrics.", key), value);
    }
    set_provenance(integrity);
  }

  void set_provenance(const Integrity& integrity) {
    const auto weights = text_of(metrics_.find("weights_hash")).value_or("");
    if (weights.empty()) return;
    const bool proven = right_ && !integrity.name.empty() &&
                        text_of(integrity.root().find("weights_sha256")) == weights;
    draft_.provenance = json::Value::object({{"method", "gguf_digest"}, {"verified", proven}});
    const auto checkpoint = text_of(metrics_.find("model_id"));
    if (checkpoint) draft_.provenance.set("checkpoint", *checkpoint);
    if (proven && draft_.timestamp) draft_.provenance.set("verified_at", *draft_.timestamp);
  }

  void tag_every_row() {
    const json::Node passed = root_.find("passed");
    const json::Node draft_length =
        metrics_.find("per_prompt").items().front().find("effective_mean_draft_len");
    for (ResultRow& row : draft_.results) {
      for (const char* key :
           {"contract_sha256", "track_id", "effective_spec_mode", "official_pairs",
            "official_pair_combine", "golden_hash", "weights_hash", "engine_device"})
        tag_text(row, key, metrics_.find(key));
      tag_text(row, "effective_mean_draft_len", draft_length);
      row.tag("passed", passed.is_true() ? "true" : "false");
    }
  }

  void add_conditions() {
    for (const ResultRow& row : draft_.results) {
      if (row.name != "control" || row.metric != kDecode.metric) continue;
      draft_.control = json::Value::object({{"incumbent_model", draft_.model.value_or("unknown")},
                                            {"same_session", true},
                                            {"metric", row.metric},
                                            {"value", row.value},
                                            {"unit", row.unit}});
    }
    draft_.regime = json::Value::object({{"concurrency", 1},
                                         {"streaming", false},
                                         {"temperature", 0.0},
                                         {"rate_basis", "decode_window"},
                                         {"warmups", 1},
                                         {"request_shape", "token ids over the Engine Protocol"}});
    if (const auto seed = integer_of(metrics_.find("seed_tokens"))) {
      draft_.regime.set("prompt_tokens_min", *seed);
      draft_.regime.set("prompt_tokens_max", *seed);
    }
    if (const auto length = integer_of(metrics_.find("decode_tokens")))
      draft_.regime.set("max_tokens", *length);
    if (const auto pairs = integer_of(metrics_.find("official_pairs")))
      draft_.regime.set("repetitions", *pairs);
    draft_.cache = json::Value::object(
        {{"weights_state", "resident"}, {"prefix_policy", "unique_full_prompt"}});
  }

  const json::Node root_;
  const json::Node metrics_;
  bool right_ = false;
  Draft draft_{};
};

}  // namespace

Result<std::vector<Draft>> convert_benchd_score(const ToolFile& file, const RunContext&) {
  if (!file.only_value().is_object()) {
    return Refusal(kConvertInput, "expected one JSON object (sealed score)");
  }
  const json::Node root = file.only_value();
  const json::Node metrics = root.find("metrics");
  if (!metrics.is_object() || !root.find("passed") || !root.find("score")) {
    return Refusal(kConvertInput, "expected `metrics`, `passed` and `score` (sealed score)");
  }
  std::vector<Draft> drafts;
  drafts.push_back(Conversion(root, metrics).run(file));
  return drafts;
}

}  // namespace assay::publish
