#include "protocol/runner_manifest.h"

#include <algorithm>
#include <initializer_list>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "protocol/refusals.h"

namespace assay::protocol {

namespace {

using json::Kind;
using json::path_of;
using json::Value;

using Keys = std::initializer_list<std::string_view>;

const Keys kManifestKeys = {"schemaVersion", "runnerID",        "modelTypes",      "backend",
                            "engine",        "kvBackends",      "decoders",        "regimes",
                            "multimodal",    "recurrentLayers", "requiresKeepMask"};
const Keys kEngineKeys = {
    "supportsPrefixReuse",   "supportsPagedKV", "supportsCompiledDecode",
    "supportsPackedPrefill", "supportsMTP",     "supportsCompactRecurrentMTPReplay"};
const Keys kDecoderKeys = {"mode", "drafter", "state", "depth"};
const Keys kRegimeKeys = {"batch", "timing", "perStreamTiming"};

Refusal invalid(std::string_view path, std::string_view found, std::string_view expected) {
  return Refusal(kRunnerManifestInvalid, cat("`", path, "` is ", found, "; expected ", expected));
}

// The object with exactly these keys, its members in their declared order. The digest is made of
// what these functions return.
Result<Value> closed(const Value& object, Keys keys, std::string_view path) {
  TRY_DO(object.expect(Kind::object, path));
  TRY_DO(object.expect_only(keys, path));
  Value ordered = Value::object();
  for (const std::string_view key : keys) {
    TRY(member, object.at(key, path));
    ordered.set(key, *member);
  }
  return ordered;
}

Result<std::string> one_of(const Value& object, std::string_view key, Keys names,
                           std::string_view path) {
  TRY(text, object.find(key)->as_string(path_of(path, key)));
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  std::string expected;
  for (const std::string_view name : names) expected += cat(expected.empty() ? "" : ", ", name);
  return invalid(path_of(path, key), cat("\"", text, "\""), cat("one of ", expected));
}

Result<std::vector<std::string>> strings(const Value& list, std::string_view path) {
  TRY_DO(list.expect(Kind::array, path));
  std::vector<std::string> out;
  for (size_t i = 0; i < list.items().size(); ++i) {
    TRY(text, list.items()[i].as_string(path_of(path, i)));
    out.push_back(text);
  }
  return out;
}

Result<std::optional<std::pair<uint32_t, uint32_t>>> depth_of(const Value& value,
                                                              std::string_view path) {
  if (value.is_null()) return std::optional<std::pair<uint32_t, uint32_t>>{};
  TRY_DO(value.expect(Kind::array, path));
  if (value.items().size() != 2) {
    return invalid(path, cat("a list of ", value.items().size()), "[lowest, highest] or null");
  }
  TRY(low, value.items()[0].as_uint32(path_of(path, size_t{0})));
  TRY(high, value.items()[1].as_uint32(path_of(path, size_t{1})));
  if (low > high) return invalid(path, cat("[", low, ",", high, "]"), "lowest first");
  return std::optional<std::pair<uint32_t, uint32_t>>{{low, high}};
}

Result<ManifestDecoder> read_decoder(Value& value, std::string_view path) {
  TRY(ordered, closed(value, kDecoderKeys, path));
  value = ordered;
  ManifestDecoder decoder;
  TRY(mode, value.find("mode")->as_string(path_of(path, "mode")));
  TRY(drafter,
      one_of(value, "drafter", {"none", "embeddedHead", "assistantCheckpoint", "ngram"}, path));
  TRY(state, one_of(value, "state", {"stateless", "requestStateful"}, path));
  TRY(depth, depth_of(*value.find("depth"), path_of(path, "depth")));
  return ManifestDecoder{mode, drafter, state, depth};
}

Result<std::optional<uint32_t>> batch_of(Value& value, std::string_view path) {
  if (value.is_string()) {
    if (value.string() == "single") return std::optional<uint32_t>{};
    return invalid(path, cat("\"", value.string(), "\""), "\"single\" or {\"upTo\": n}");
  }
  TRY(ordered, closed(value, {"upTo"}, path));
  value = ordered;
  TRY(width, value.find("upTo")->as_uint32(path_of(path, "upTo")));
  if (width < 2) return invalid(path_of(path, "upTo"), cat(width), "at least 2, or \"single\"");
  return std::optional<uint32_t>(width);
}

Result<ManifestRegime> read_regime(Value& value, std::string_view path) {
  TRY(ordered, closed(value, kRegimeKeys, path));
  value = ordered;
  TRY(batch, batch_of(*value.find("batch"), path_of(path, "batch")));
  TRY(timing, one_of(value, "timing", {"freeRun", "teacherForced"}, path));
  TRY(per_stream, value.find("perStreamTiming")->as_bool(path_of(path, "perStreamTiming")));
  return ManifestRegime{batch, timing, per_stream};
}

// Decoders and regimes, written back in declared order.
template <class Item, class Read>
Result<std::vector<Item>> read_list(Value& list, std::string_view path, Read read) {
  TRY_DO(list.expect(Kind::array, path));
  std::vector<Item> out;
  for (size_t i = 0; i < list.items().size(); ++i) {
    TRY(item, read(list.items()[i], path_of(path, i)));
    out.push_back(item);
  }
  return out;
}

Status check_flags(const Value& object, Keys keys, std::string_view path) {
  for (const std::string_view key : keys) {
    TRY(flag, object.find(key)->as_bool(path_of(path, key)));
    (void)flag;
  }
  return {};
}

std::string joined(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += cat(out.empty() ? "" : ", ", name);
  return out.empty() ? "none" : out;
}

std::string number_or_absent(const std::optional<uint32_t>& value) {
  return value ? cat(*value) : "absent";
}

std::vector<std::string> derived_capabilities(const RunnerManifest& manifest, bool trusted) {
  const auto any = [&](auto holds) {
    return std::any_of(manifest.regimes.begin(), manifest.regimes.end(), holds);
  };
  std::vector<std::string> out;
  if (any([](const ManifestRegime& r) { return r.timing == "freeRun"; })) {
    out.emplace_back("free_run_decode");
  }
  if (any([](const ManifestRegime& r) { return r.batch_up_to.has_value(); })) {
    out.emplace_back("batched_free_run_decode");
  }
  if (any([](const ManifestRegime& r) { return r.per_stream_timing; })) {
    out.emplace_back("per_stream_timing");
  }
  if (trusted) out.emplace_back("cohort_reference_replay");
  return out;
}

std::optional<uint32_t> derived_batch_size(const RunnerManifest& manifest) {
  std::optional<uint32_t> out;
  for (const ManifestRegime& regime : manifest.regimes) {
    if (regime.batch_up_to) out = std::max(out.value_or(0), *regime.batch_up_to);
  }
  return out;
}

}  // namespace

Result<RunnerManifest> read_runner_manifest(std::string_view bytes) {
  TRY(parsed, json::parse(bytes));
  TRY(root, closed(parsed, kManifestKeys, ""));
  TRY(version, root.find("schemaVersion")->as_uint32("schemaVersion"));
  if (version != 1) return invalid("schemaVersion", cat(version), "1");

  RunnerManifest manifest;
  TRY(runner_id, root.find("runnerID")->as_string("runnerID"));
  const size_t slash = runner_id.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == runner_id.size()) {
    return invalid("runnerID", cat("\"", runner_id, "\""), "vendor/name");
  }
  manifest.runner_id = runner_id;
  TRY(model_types, strings(*root.find("modelTypes"), "modelTypes"));
  manifest.model_types = model_types;
  TRY(backend, root.find("backend")->as_string("backend"));
  manifest.backend = backend;

  Value& engine = *root.find("engine");
  TRY(ordered_engine, closed(engine, kEngineKeys, "engine"));
  engine = ordered_engine;
  TRY_DO(check_flags(engine, kEngineKeys, "engine"));
  TRY(kv_backends, strings(*root.find("kvBackends"), "kvBackends"));
  for (const std::string& name : kv_backends) {
    if (name != "contiguous" && name != "paged") {
      return invalid("kvBackends", cat("\"", name, "\""), "contiguous or paged");
    }
  }
  TRY(decoders, read_list<ManifestDecoder>(*root.find("decoders"), "decoders", read_decoder));
  manifest.decoders = decoders;
  TRY(regimes, read_list<ManifestRegime>(*root.find("regimes"), "regimes", read_regime));
  manifest.regimes = regimes;
  TRY_DO(check_flags(root, {"multimodal", "recurrentLayers", "requiresKeepMask"}, ""));
  manifest.sha256 = sha256_hex(json::write(root));
  return manifest;
}

std::vector<ManifestDivergence> check_manifest(const RunnerManifest& manifest, const Hello& hello,
                                               bool trusted) {
  std::vector<ManifestDivergence> out;
  const auto expect = [&out](bool holds, std::string_view check, std::string reason) {
    if (!holds) out.push_back({check, std::move(reason)});
  };

  std::vector<std::string> declared, undeclared;
  for (const ManifestDecoder& decoder : manifest.decoders) declared.push_back(decoder.mode);
  for (const std::string& mode : hello.spec_modes) {
    if (std::find(declared.begin(), declared.end(), mode) == declared.end()) {
      undeclared.push_back(mode);
    }
  }
  expect(
      undeclared.empty(), "spec_modes_declared",
      cat("the hello offers ", joined(undeclared), "; the manifest declares ", joined(declared)));

  // As lists, not sets: a capability that stands twice is a divergence.
  const std::string derived = joined(derived_capabilities(manifest, trusted));
  const std::string offered = joined(hello.capabilities);
  expect(offered == derived, "capabilities_derived",
         cat("the hello offers ", offered, "; the manifest gives ", derived));

  const auto width = derived_batch_size(manifest);
  expect(hello.max_batch_size == width, "max_batch_size_derived",
         cat("the hello says ", number_or_absent(hello.max_batch_size), "; the manifest gives ",
             number_or_absent(width)));
  expect(hello.backend == manifest.backend, "backend_matches",
         cat("the hello says ", hello.backend.value_or("nothing"), "; the manifest says ",
             manifest.backend));

  expect(hello.runner.has_value(), "runner_identity_present", "the hello names no runner");
  const RunnerIdentity none;
  const RunnerIdentity& runner = hello.runner ? *hello.runner : none;
  expect(hello.runner && runner.manifest_sha256 == manifest.sha256, "manifest_digest_matches",
         cat("the hello says ", runner.manifest_sha256.empty() ? "nothing" : runner.manifest_sha256,
             "; the manifest's digest is ", manifest.sha256));
  if (!hello.runner) return out;
  expect(runner.id == manifest.runner_id, "runner_id_matches",
         cat("the hello says ", runner.id, "; the manifest says ", manifest.runner_id));
  expect(std::find(manifest.model_types.begin(), manifest.model_types.end(), runner.model_type) !=
             manifest.model_types.end(),
         "model_type_declared",
         cat("the hello says ", runner.model_type, "; the manifest declares ",
             joined(manifest.model_types)));
  return out;
}

}  // namespace assay::protocol
