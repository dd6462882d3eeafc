#include "scoring/seal.h"

#include "base/ensure.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "scoring/refusals.h"

namespace assay::scoring {

namespace {

using json::Value;

// The keys of an integrity document in their order, each with its member.
template <class I, class V>
void visit_integrity(I& i, V&& visit) {
  visit("score_path", i.score_path);
  visit("score_sha256", i.score_sha256);
  visit("weights_path", i.weights_path);
  visit("weights_sha256", i.weights_sha256);
  visit("weights_file_count", i.weights_file_count);
  visit("weights_byte_count", i.weights_byte_count);
  visit("golden_path", i.golden_path);
  visit("golden_sha256", i.golden_sha256);
  visit("transform_source_sha256", i.transform_source_sha256);
  visit("candidate_executable", i.candidate_executable);
  visit("candidate_executable_sha256", i.candidate_executable_sha256);
  visit("baseline_executable", i.baseline_executable);
  visit("baseline_executable_sha256", i.baseline_executable_sha256);
  visit("candidate_executable_resolution", i.candidate_executable_resolution);
  visit("benchd_executable", i.benchd_executable);
  visit("benchd_executable_sha256", i.benchd_executable_sha256);
  visit("candidate_workspace_sha256", i.candidate_workspace_sha256);
  visit("sandbox", i.sandbox);
}

struct IntegrityReader {
  const Value& object;
  Status status;
  size_t keys = 0;

  void operator()(std::string_view key, std::string& out) {
    read(key, out, [key](const Value& value) { return value.as_string(key); });
  }
  void operator()(std::string_view key, uint64_t& out) {
    read(key, out, [key](const Value& value) { return value.as_uint64(key); });
  }

 private:
  template <class T, class ReadAs>
  void read(std::string_view key, T& out, ReadAs read_as) {
    ++keys;
    if (!status) return;
    const auto value = object.at(key, "");
    if (!value) {
      status = value.refusal();
      return;
    }
    auto read_value = read_as(**value);
    if (!read_value) {
      status = std::move(read_value).refusal();
      return;
    }
    out = *std::move(read_value);
  }
};

bool is_bare_name(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos && name != "." && name != "..";
}

// The part of `path` below `folder`, when it lies below it.
std::optional<std::string_view> below(std::string_view path, std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty() || folder == "/" || !path.starts_with(folder)) return std::nullopt;
  std::string_view rest = path.substr(folder.size());
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return rest;
}

std::string dot_when_empty(std::string_view path) {
  return path.empty() ? std::string(".") : std::string(path);
}

}  // namespace

std::string write_integrity(const Integrity& integrity) {
  Value out = Value::object();
  visit_integrity(
      integrity, [&out](std::string_view key, const auto& member) { out.set(key, Value(member)); });
  return json::write(out, {.indent = 2, .sort_keys = false}) + "\n";
}

Result<Integrity> read_integrity(std::string_view bytes) {
  TRY(document, json::parse(bytes));
  TRY_DO(document.expect(json::Kind::object, "integrity document"));
  Integrity out;
  IntegrityReader reader{document, {}, 0};
  visit_integrity(out, reader);
  TRY_DO(std::move(reader.status));
  if (document.members().size() != reader.keys) {
    return Refusal(kIntegrityInvalid, cat("the document has ", document.members().size(),
                                          " keys, expected its ", reader.keys));
  }
  if (out.golden_path != kGoldenPathSealed) {
    return Refusal(kIntegrityInvalid, cat("`golden_path` must be \"", kGoldenPathSealed, "\""));
  }
  const std::string& resolution = out.candidate_executable_resolution;
  if (resolution != "canonical" && resolution != "unresolved") {
    return Refusal(kIntegrityInvalid, cat("`candidate_executable_resolution` is \"", resolution,
                                          "\", expected canonical or unresolved"));
  }
  return out;
}

std::string integrity_name_of_mode(std::string_view mode) {
  return mode == "local-iterate" ? "benchmark-integrity.local-iterate.json"
                                 : "benchmark-integrity.json";
}
std::string sidecar_name(std::string_view file_name) {
  return cat(file_name, ".sha256");
}
std::string sidecar_line(std::string_view sha256, std::string_view file_name) {
  return cat(sha256, "  ", file_name, "\n");
}

std::string score_bytes(const ScoreDocument& document) {
  return json::write(to_json(coarsened(document)), {.indent = 2, .sort_keys = true});
}

SealedScore seal(const ScoreDocument& document, Integrity integrity, std::string_view score_name,
                 std::string_view integrity_name) {
  ENSURE(is_bare_name(score_name) && is_bare_name(integrity_name));
  SealedScore out;
  out.score = {std::string(score_name), score_bytes(document)};
  out.score_sha256 = sha256_hex(out.score.bytes);
  out.score_sidecar = {sidecar_name(score_name), sidecar_line(out.score_sha256, score_name)};

  const Metrics& m = document.metrics;
  integrity.score_sha256 = out.score_sha256;
  integrity.weights_sha256 = m.weights_hash;
  integrity.weights_file_count = m.weights_file_count;
  integrity.weights_byte_count = m.weights_byte_count;
  integrity.golden_path = kGoldenPathSealed;
  if (!m.golden_hash.empty()) integrity.golden_sha256 = m.golden_hash;
  out.integrity = {std::string(integrity_name), write_integrity(integrity)};
  out.integrity_sidecar = {sidecar_name(integrity_name),
                           sidecar_line(sha256_hex(out.integrity.bytes), integrity_name)};
  return out;
}

std::string redact_path(std::string_view path, std::string_view cwd, std::string_view home) {
  if (!path.starts_with('/')) return dot_when_empty(path);
  if (const auto rest = below(path, cwd)) return dot_when_empty(*rest);
  if (const auto rest = below(path, home)) return dot_when_empty(*rest);
  for (const std::string_view head : {"/Users/", "/home/"}) {
    if (!path.starts_with(head)) continue;
    const size_t slash = path.find('/', head.size());
    return slash == std::string_view::npos ? "." : dot_when_empty(path.substr(slash + 1));
  }
  return std::string(path);
}

}  // namespace assay::scoring
