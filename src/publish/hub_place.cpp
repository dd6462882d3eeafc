// Where an hf:// store is and with which token: from the URL and the environment.
#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "publish/hub_api.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

bool is_repository_part(std::string_view text) {
  return !text.empty() && text.size() <= 96 && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

// In order: given, HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file of HF_TOKEN_PATH.
std::string token_of(const Outside& outside) {
  if (outside.options.token) return std::string(trim(*outside.options.token));
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const auto value = outside.variable(name)) return *value;
  }
  std::filesystem::path file;
  if (const auto path = outside.variable("HF_TOKEN_PATH")) {
    file = *path;
  } else if (const auto home = outside.variable("HF_HOME")) {
    file = std::filesystem::path(*home) / "token";
  } else if (const auto cache = outside.variable("XDG_CACHE_HOME")) {
    file = std::filesystem::path(*cache) / "huggingface" / "token";
  } else if (const auto user = outside.variable("HOME")) {
    file = std::filesystem::path(*user) / ".cache" / "huggingface" / "token";
  }
  if (file.empty()) return "";
  const auto bytes = read_file(file, 4096);
  return bytes ? std::string(trim(*bytes)) : "";
}

}  // namespace

std::string HubPlace::url() const {
  return cat("hf://", kind, "/", name, revision == "main" ? "" : cat("@", revision));
}

Result<HubPlace> hub_place(std::string_view url, const Outside& outside) {
  const Refusal wrong(kStoreUrl, cat("`", url, "`, expected hf://datasets/OWNER/NAME[@REVISION]"));
  constexpr std::string_view kScheme = "hf://";
  if (!url.starts_with(kScheme)) return wrong;
  std::string_view rest = url.substr(kScheme.size());
  HubPlace place;
  for (const char* kind : {"datasets", "spaces"}) {
    if (rest.starts_with(cat(kind, "/"))) place.kind = kind;
  }
  if (place.kind.empty()) return wrong;
  rest.remove_prefix(place.kind.size() + 1);
  place.revision = "main";
  if (const size_t at_sign = rest.find('@'); at_sign != std::string_view::npos) {
    place.revision = std::string(rest.substr(at_sign + 1));
    rest = rest.substr(0, at_sign);
    if (!is_plain_path(place.revision)) return wrong;
  }
  const auto parts = split(rest, '/');
  if (parts.size() != 2 || !is_repository_part(parts[0]) || !is_repository_part(parts[1]))
    return wrong;
  place.name = std::string(rest);

  place.endpoint = outside.variable("HF_ENDPOINT").value_or("https://huggingface.co");
  while (place.endpoint.ends_with('/')) place.endpoint.pop_back();
  place.token = token_of(outside);
  if (has_control_character(place.token) || place.token.find(' ') != std::string::npos) {
    return Refusal(kStoreCredentialsMissing, "the hub token holds a space or a control character");
  }
  if (place.token.empty() && outside.options.for_writing) {
    return Refusal(
        kStoreCredentialsMissing,
        "no hub token: set HF_TOKEN to one that may write to the dataset, or put it into "
        "the file that HF_TOKEN_PATH names");
  }
  if (has_control_character(place.endpoint) ||
      place.endpoint.find_first_of("?#@ ") != std::string::npos)
    return Refusal(kStoreUrl, "HF_ENDPOINT is no plain http:// or https:// address");
  if (!place.token.empty()) {
    const auto safe = check_secret_may_go(place.endpoint);
    if (!safe) return at("HF_ENDPOINT", safe.refusal());
  }
  return place;
}

}  // namespace assay::publish
