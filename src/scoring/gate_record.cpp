#include "scoring/gate_record.h"

#include <cmath>

#include "base/text.h"
#include "scoring/refusals.h"

namespace assay::scoring {

namespace {

using json::Kind;
using json::path_of;
using json::Value;

Value nullable(const std::optional<double>& value) {
  return value ? Value(*value) : Value();
}

// A key that may be null but must be there.
Result<std::optional<double>> nullable_at(const Value& object, std::string_view key,
                                          std::string_view path) {
  TRY(value, object.at(key, path));
  if (value->is_null()) return std::optional<double>();
  TRY(number, value->as_double(path_of(path, key)));
  return std::optional<double>(number);
}

Result<std::string> word_at(const Value& object, std::string_view key, std::string_view path,
                            std::initializer_list<std::string_view> words) {
  TRY(value, object.at(key, path));
  TRY(text, value->as_string(path_of(path, key)));
  for (const std::string_view word : words) {
    if (text == word) return text;
  }
  return Refusal(kGateRecordInvalid, cat("`", path_of(path, key), "` is \"", text, "\", expected ",
                                         *words.begin(), " or ", *(words.end() - 1)));
}

Result<double> waited_at(const Value& object, std::string_view path) {
  TRY(value, object.at("waited_seconds", path));
  TRY(seconds, value->as_double(path_of(path, "waited_seconds")));
  if (seconds < 0.0) {
    return Refusal(kGateRecordInvalid,
                   cat("`", path_of(path, "waited_seconds"), "` is negative, expected at least 0"));
  }
  return seconds;
}

Result<std::optional<std::string>> reason_at(const Value& object, std::string_view path) {
  const Value* value = object.find("skip_reason");
  if (value == nullptr) return std::optional<std::string>();
  TRY(text, value->as_string(path_of(path, "skip_reason")));
  return std::optional<std::string>(text);
}

Result<QuiescenceRecord> read_quiescence(const Value& object, std::string_view path) {
  TRY_DO(object.expect(Kind::object, path));
  TRY_DO(object.expect_only({"state", "waited_seconds", "load", "gpu_util", "skip_reason"}, path));
  TRY(state, word_at(object, "state", path, {"passed", "skipped"}));
  TRY(waited, waited_at(object, path));
  TRY(load, nullable_at(object, "load", path));
  TRY(gpu_util, nullable_at(object, "gpu_util", path));
  TRY(reason, reason_at(object, path));
  return QuiescenceRecord{state, waited, load, gpu_util, reason};
}

Result<CoolRecord> read_cool(const Value& object, std::string_view path) {
  TRY_DO(object.expect(Kind::object, path));
  TRY_DO(object.expect_only({"state", "waited_seconds", "gpu_temp_c", "skip_reason"}, path));
  TRY(state, word_at(object, "state", path, {"passed", "skipped"}));
  TRY(waited, waited_at(object, path));
  TRY(temperature, nullable_at(object, "gpu_temp_c", path));
  TRY(reason, reason_at(object, path));
  return CoolRecord{state, waited, temperature, reason};
}

}  // namespace

Value to_json(const GateRecord& record) {
  Value quiescence = Value::object({{"state", record.quiescence.state},
                                    {"waited_seconds", record.quiescence.waited_seconds},
                                    {"load", nullable(record.quiescence.load)},
                                    {"gpu_util", nullable(record.quiescence.gpu_util)}});
  if (record.quiescence.skip_reason) quiescence.set("skip_reason", *record.quiescence.skip_reason);
  Value cool = Value::object({{"state", record.cool.state},
                              {"waited_seconds", record.cool.waited_seconds},
                              {"gpu_temp_c", nullable(record.cool.gpu_temp_c)}});
  if (record.cool.skip_reason) cool.set("skip_reason", *record.cool.skip_reason);
  Value out = Value::object();
  if (record.pair) out.set("pair", *record.pair);
  if (record.pass) out.set("pass", *record.pass);
  if (record.leg) out.set("leg", *record.leg);
  out.set("phase", record.phase);
  out.set("quiescence", std::move(quiescence));
  out.set("cool", std::move(cool));
  return out;
}

Result<GateRecord> read_gate_record(const Value& value, std::string_view path, bool calibration) {
  TRY_DO(value.expect(Kind::object, path));
  GateRecord out;
  if (calibration) {
    TRY_DO(value.expect_only({"pass", "phase", "quiescence", "cool"}, path));
    TRY(number_value, value.at("pass", path));
    TRY(number, number_value->as_uint32(path_of(path, "pass")));
    out.pass = number;
  } else {
    TRY_DO(value.expect_only({"pair", "leg", "phase", "quiescence", "cool"}, path));
    if (const Value* pair = value.find("pair")) {
      TRY(number, pair->as_uint32(path_of(path, "pair")));
      out.pair = number;
    }
    TRY(leg, word_at(value, "leg", path, {"control", "candidate"}));
    out.leg = leg;
  }
  TRY(phase, word_at(value, "phase", path, {"prefill", "decode"}));
  TRY(quiescence_value, value.at("quiescence", path));
  TRY(quiescence, read_quiescence(*quiescence_value, path_of(path, "quiescence")));
  TRY(cool_value, value.at("cool", path));
  TRY(cool, read_cool(*cool_value, path_of(path, "cool")));
  out.phase = phase;
  out.quiescence = std::move(quiescence);
  out.cool = std::move(cool);
  return out;
}

}  // namespace assay::scoring
