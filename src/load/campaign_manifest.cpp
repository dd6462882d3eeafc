#include "load/campaign_manifest.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/secrets.h"
#include "base/text.h"
#include "load/campaign_admission.h"
#include "load/refusals.h"

namespace assay::load {

namespace {

using json::path_of;

Refusal wrong(std::string_view path, std::string_view what) {
  return Refusal(kCampaignManifest, cat("`", path, "` ", what));
}

// Long enough for any path or prompt; it also bounds how deep variables nest.
constexpr size_t kTextMax = 4096;

Result<std::string> text_of(const json::Value& value, std::string_view path) {
  TRY(text, value.as_string(path));
  if (text.size() > kTextMax)
    return wrong(path, cat("has ", text.size(), " bytes, at most ", kTextMax, " are meant"));
  return text;
}

// Readers of one member each: an absent optional member leaves `out` as it is.
Status read_text(const json::Value& object, std::string_view key, std::string_view parent,
                 std::string& out) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return {};
  const std::string path = path_of(parent, key);
  TRY(text, text_of(*value, path));
  if (text.empty()) return wrong(path, "is empty");
  out = text;
  return {};
}

Status read_text(const json::Value& object, std::string_view key, std::string_view parent,
                 std::optional<std::string>& out) {
  if (object.find(key) == nullptr) return {};
  std::string text;
  TRY_DO(read_text(object, key, parent, text));
  out = std::move(text);
  return {};
}

struct Range {
  int64_t least, most;
};
constexpr Range kTokens{1, int64_t{1} << 30};
constexpr Range kBytes{0, int64_t{1} << 50};
constexpr Range kSeconds{1, 7 * 86400};

Status read_count(const json::Value& object, std::string_view key, std::string_view parent,
                  Range range, int64_t& out) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return {};
  const std::string path = path_of(parent, key);
  TRY(number, value->as_int64(path));
  if (number < range.least || number > range.most)
    return wrong(path, cat("is ", number, ", ", range.least, " to ", range.most, " is meant"));
  out = number;
  return {};
}

Status read_count(const json::Value& object, std::string_view key, std::string_view parent,
                  Range range, std::optional<int64_t>& out) {
  if (object.find(key) == nullptr) return {};
  int64_t number = 0;
  TRY_DO(read_count(object, key, parent, range, number));
  out = number;
  return {};
}

Status read_counts(const json::Value& object, std::string_view key, std::string_view parent,
                   std::vector<int64_t>& out) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return {};
  const std::string path = path_of(parent, key);
  TRY(numbers, value->as_int64s(path));
  if (numbers.empty()) return wrong(path, "is empty: nothing would be measured");
  std::set<int64_t> seen;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < kTokens.least || numbers[i] > kTokens.most) {
      return wrong(path_of(path, i),
                   cat("is ", numbers[i], ", ", kTokens.least, " to ", kTokens.most, " is meant"));
    }
    if (!seen.insert(numbers[i]).second) return wrong(path_of(path, i), "stands twice");
  }
  out = std::move(numbers);
  return {};
}

Status read_bool(const json::Value& object, std::string_view key, std::string_view parent,
                 bool& out) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return {};
  TRY(flag, value->as_bool(path_of(parent, key)));
  out = flag;
  return {};
}

Status read_texts(const json::Value& object, std::string_view key, std::string_view parent,
                  std::map<std::string, std::string>& out) {
  const json::Value* value = object.find(key);
  if (value == nullptr) return {};
  const std::string path = path_of(parent, key);
  TRY_DO(value->expect(json::Kind::object, path));
  for (const auto& [name, text] : value->members()) {
    TRY(word, text_of(text, path_of(path, name)));
    out[name] = word;
  }
  return {};
}

// A name that becomes one folder below the output's root.
Status check_folder_name(const std::string& name, std::string_view path) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!plain || name.front() == '.' || name.size() > 100) {
    return wrong(path, cat("is \"", name,
                           "\": it becomes a folder, so letters, digits and - _ . are accepted, "
                           "no dot first, at most 100"));
  }
  return {};
}

Result<ServerSpec> read_server(const json::Value& value, const std::string& path) {
  TRY_DO(value.expect(json::Kind::object, path));
  TRY_DO(value.expect_only({"argv", "ready_url", "environment", "ready_timeout_seconds"}, path));
  ServerSpec server;
  TRY(argv, value.at("argv", path));
  const std::string argv_path = path_of(path, "argv");
  TRY_DO(argv->expect(json::Kind::array, argv_path));
  for (size_t i = 0; i < argv->items().size(); ++i) {
    TRY(word, text_of(argv->items()[i], path_of(argv_path, i)));
    server.argv.push_back(word);
  }
  if (server.argv.empty() || server.argv[0].empty()) return wrong(argv_path, "names no program");
  TRY_DO(value.at("ready_url", path));
  TRY_DO(read_text(value, "ready_url", path, server.ready_url));
  TRY_DO(read_count(value, "ready_timeout_seconds", path, kSeconds, server.ready_timeout_seconds));
  TRY_DO(read_texts(value, "environment", path, server.environment));
  return server;
}

Result<DeclaredOutcome> read_outcome(const json::Value& value, const std::string& path) {
  TRY_DO(value.expect(json::Kind::object, path));
  TRY_DO(value.expect_only({"status", "reason", "target_tokens"}, path));
  DeclaredOutcome outcome;
  TRY(status, value.at("status", path));
  TRY(name, status->as_string(path_of(path, "status")));
  const auto known = status_from(name);
  if (!known)
    return wrong(path_of(path, "status"), cat("is \"", name, "\", which is no cell status"));
  if (*known == CellStatus::success)
    return wrong(path_of(path, "status"), "is \"success\": a success is measured, not declared");
  outcome.status = *known;
  TRY_DO(value.at("reason", path));
  TRY_DO(read_text(value, "reason", path, outcome.reason));
  TRY_DO(read_count(value, "target_tokens", path, kTokens, outcome.target_tokens));
  return outcome;
}

Result<Profile> read_profile(const json::Value& value, const std::string& path) {
  TRY_DO(value.expect(json::Kind::object, path));
  TRY_DO(
      value.expect_only({"id", "model", "window_limit_tokens", "enabled", "model_max_tokens",
                         "catalog_max_tokens", "proxy_max_tokens", "worker_max_tokens", "outcome",
                         "server", "checkpoint_sha256", "kv_bytes_per_token", "weights_bytes",
                         "quantization", "model_revision", "stack", "variables"},
                        path));
  Profile profile;
  TRY_DO(value.at("model", path));
  TRY_DO(read_text(value, "model", path, profile.model));
  profile.id = profile.model.substr(profile.model.rfind('/') + 1);  // npos + 1 = 0
  TRY_DO(read_text(value, "id", path, profile.id));
  if (profile.id.empty())
    return wrong(path_of(path, "model"), "ends in '/': give the profile an id");
  TRY_DO(check_folder_name(profile.id, path_of(path, "id")));
  TRY_DO(value.at("window_limit_tokens", path));
  TRY_DO(read_count(value, "window_limit_tokens", path, kTokens, profile.window_limit_tokens));
  TRY_DO(read_bool(value, "enabled", path, profile.enabled));
  TRY_DO(read_count(value, "model_max_tokens", path, kTokens, profile.model_max_tokens));
  TRY_DO(read_count(value, "catalog_max_tokens", path, kTokens, profile.catalog_max_tokens));
  TRY_DO(read_count(value, "proxy_max_tokens", path, kTokens, profile.proxy_max_tokens));
  TRY_DO(read_count(value, "worker_max_tokens", path, kTokens, profile.worker_max_tokens));
  TRY_DO(read_count(value, "kv_bytes_per_token", path, kBytes, profile.kv_bytes_per_token));
  TRY_DO(read_count(value, "weights_bytes", path, kBytes, profile.weights_bytes));
  TRY_DO(read_text(value, "checkpoint_sha256", path, profile.checkpoint_sha256));
  TRY_DO(read_text(value, "quantization", path, profile.quantization));
  TRY_DO(read_text(value, "model_revision", path, profile.model_revision));
  TRY_DO(read_text(value, "stack", path, profile.stack));
  if (profile.checkpoint_sha256 && !is_lower_hex(*profile.checkpoint_sha256, 64)) {
    return wrong(path_of(path, "checkpoint_sha256"), "is not 64 lower-case hex digits");
  }
  if (const json::Value* outcome = value.find("outcome")) {
    TRY(declared, read_outcome(*outcome, path_of(path, "outcome")));
    profile.outcome = std::move(declared);
  }
  TRY_DO(read_texts(value, "variables", path, profile.variables));
  if (const json::Value* server = value.find("server")) {
    TRY(spec, read_server(*server, path_of(path, "server")));
    profile.server = std::move(spec);
  }
  return profile;
}

Status read_defaults(const json::Value& value, Manifest& manifest) {
  const std::string_view path = "defaults";
  TRY_DO(value.expect(json::Kind::object, path));
  TRY_DO(value.expect_only({"targets", "configured_windows", "output_tokens", "repeats",
                            "concurrency", "prompt_tolerance_tokens"},
                           path));
  TRY_DO(read_counts(value, "targets", path, manifest.targets));
  TRY_DO(read_counts(value, "configured_windows", path, manifest.configured_windows));
  TRY_DO(read_count(value, "output_tokens", path, kTokens, manifest.output_tokens));
  TRY_DO(read_count(value, "repeats", path, Range{1, 10'000}, manifest.repeats));
  TRY_DO(read_count(value, "concurrency", path, Range{1, 1'024}, manifest.concurrency));
  TRY_DO(read_count(value, "prompt_tolerance_tokens", path, Range{0, 1 << 30},
                    manifest.prompt_tolerance_tokens));
  return {};
}

Status read_assertions(const json::Value& value, Assertions& assertions) {
  const std::string path = "assertions";
  TRY_DO(value.expect(json::Kind::object, path));
  TRY_DO(value.expect_only({"tool_call"}, path));
  return read_bool(value, "tool_call", path, assertions.tool_call);
}

Status read_guards(const json::Value& value, Guards& guards) {
  const std::string path = "guards";
  TRY_DO(value.expect(json::Kind::object, path));
  TRY_DO(value.expect_only({"swap_bytes_max", "swap_growth_bytes_max", "memory_utilisation",
                            "request_timeout_seconds", "max_error_rate"},
                           path));
  TRY_DO(read_count(value, "swap_bytes_max", path, kBytes, guards.swap_bytes_max));
  TRY_DO(read_count(value, "swap_growth_bytes_max", path, kBytes, guards.swap_growth_bytes_max));
  TRY_DO(
      read_count(value, "request_timeout_seconds", path, kSeconds, guards.request_timeout_seconds));
  if (const json::Value* utilisation = value.find("memory_utilisation")) {
    const std::string place = path_of(path, "memory_utilisation");
    TRY(share, utilisation->as_double(place));
    if (!(share > 0 && share <= 0.85)) {
      return wrong(place, cat("is ", share, ": a share above 0 and at most 0.85 is meant"));
    }
    guards.memory_utilisation = share;
  }
  if (const json::Value* errors = value.find("max_error_rate")) {
    const std::string place = path_of(path, "max_error_rate");
    TRY(share, errors->as_double(place));
    if (!(share >= 0 && share < 1))
      return wrong(place, cat("is ", share, ": a share from 0 to below 1 is meant"));
    guards.max_error_rate = share;
  }
  return {};
}

Status read_profiles(const json::Value& value, Manifest& manifest) {
  TRY_DO(value.expect(json::Kind::array, "profiles"));
  std::set<std::string> ids;
  for (size_t i = 0; i < value.items().size(); ++i) {
    const std::string path = path_of("profiles", i);
    TRY(profile, read_profile(value.items()[i], path));
    if (!ids.insert(profile.id).second)
      return wrong(path_of(path, "id"), cat("is \"", profile.id, "\", as another profile's"));
    manifest.profiles.push_back(std::move(profile));
  }
  if (manifest.profiles.empty()) return wrong("profiles", "is empty: there is nothing to measure");
  return {};
}

Status read_control(const json::Value& value, Manifest& manifest) {
  TRY_DO(value.expect(json::Kind::object, "control"));
  TRY_DO(value.expect_only({"profile"}, "control"));
  TRY_DO(value.at("profile", "control"));
  TRY_DO(read_text(value, "profile", "control", manifest.control_profile));
  const Profile* control = manifest.find_profile(*manifest.control_profile);
  if (control == nullptr)
    return wrong("control.profile",
                 cat("is \"", *manifest.control_profile, "\", which is no profile"));
  if (!control->enabled)
    return wrong("control.profile", cat("is \"", control->id, "\", which is not enabled"));
  return {};
}

}  // namespace

const Profile* Manifest::find_profile(std::string_view id) const {
  for (const Profile& profile : profiles) {
    if (profile.id == id) return &profile;
  }
  return nullptr;
}

Result<Manifest> parse_manifest(std::string_view bytes) {
  TRY(root, json::parse(bytes, {.skip_byte_order_mark = true}));
  TRY_DO(root.expect(json::Kind::object, "the manifest"));
  TRY_DO(root.expect_only({"campaign_id", "output_root", "base_url", "environment_class",
                           "defaults", "profiles", "server", "control", "assertions", "guards"},
                          ""));
  Manifest manifest;
  TRY_DO(root.at("campaign_id", ""));
  TRY_DO(read_text(root, "campaign_id", "", manifest.campaign_id));
  TRY_DO(check_folder_name(manifest.campaign_id, "campaign_id"));
  TRY_DO(read_text(root, "output_root", "", manifest.output_root));
  TRY_DO(read_text(root, "base_url", "", manifest.base_url));
  // It names every cell and stands in every file.
  if (mask_text(manifest.base_url))
    return wrong("base_url", "holds a user, a password or a key, which would stand in every file");
  TRY_DO(read_text(root, "environment_class", "", manifest.environment_class));
  if (manifest.environment_class != "isolated" && manifest.environment_class != "under-load") {
    return wrong("environment_class",
                 cat("is \"", manifest.environment_class, "\", isolated or under-load is meant"));
  }
  if (const json::Value* defaults = root.find("defaults"))
    TRY_DO(read_defaults(*defaults, manifest));
  TRY(profiles, root.at("profiles", ""));
  TRY_DO(read_profiles(*profiles, manifest));
  if (const json::Value* server = root.find("server")) {
    TRY(spec, read_server(*server, "server"));
    manifest.server = std::move(spec);
  }
  if (const json::Value* control = root.find("control")) TRY_DO(read_control(*control, manifest));
  if (const json::Value* assertions = root.find("assertions"))
    TRY_DO(read_assertions(*assertions, manifest.assertions));
  if (const json::Value* guards = root.find("guards"))
    TRY_DO(read_guards(*guards, manifest.guards));
  if (manifest.control_profile && manifest.repeats < 2) {
    return wrong("defaults.repeats",
                 "is 1: a control needs two legs of the candidate around its own, so at least 2");
  }
  return manifest;
}

namespace {

// The place of the `}` that closes the `${` before `begin`, counting nested ones.
size_t closing_brace(std::string_view text, size_t begin) {
  int depth = 1;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::string> expand(std::string_view text, const Lookup& lookup) {
  std::string out;
  if (text.starts_with("~/")) {
    const auto home = lookup("HOME");
    if (!home)
      return Refusal(kCampaignVariableUnset, cat("`", text, "` needs HOME, which is not set"));
    out = *home;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const size_t begin = text.find("${");
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) break;
    const size_t end = closing_brace(text, begin + 2);
    if (end == std::string_view::npos)
      return Refusal(kCampaignVariableUnset, cat("`", text, "` has a ${ without its }"));
    const std::string_view inside = text.substr(begin + 2, end - begin - 2);
    const size_t fallback = inside.find(":-");
    const std::string_view name = inside.substr(0, fallback);
    const auto value = lookup(name);
    if (value && (!value->empty() || fallback == std::string_view::npos)) {
      out += *value;
    } else if (fallback != std::string_view::npos) {
      TRY(instead, expand(inside.substr(fallback + 2), lookup));
      out += instead;
    } else {
      return Refusal(kCampaignVariableUnset,
                     cat("${", name,
                         "} is neither one of the campaign's variables nor set in the "
                         "environment"));
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

Lookup with_environment(std::map<std::string, std::string, std::less<>> first) {
  return [first = std::move(first)](std::string_view name) -> std::optional<std::string> {
    if (const auto own = first.find(name); own != first.end()) return own->second;
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

}  // namespace assay::load
