#include "publish/hub_api.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/encoding.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr std::string_view kLfsType = "application/vnd.git-lfs+json";

// The member as text, empty when it is absent or no string.
std::string text_in(const json::Value& value, std::string_view key) {
  if (!value.is_object()) return "";
  const json::Value* member = value.find(key);
  return member != nullptr && member->is_string() ? member->string() : "";
}

const json::Value* object_in(const json::Value& value, std::string_view key) {
  if (!value.is_object()) return nullptr;
  const json::Value* member = value.find(key);
  return member != nullptr && member->is_object() ? member : nullptr;
}

// A number written as one, or as a string of digits.
std::optional<uint64_t> count_in(const json::Value& value, std::string_view key) {
  const json::Value* member = value.is_object() ? value.find(key) : nullptr;
  if (member == nullptr) return std::nullopt;
  if (member->is_string()) return parse_uint64(member->string());
  return member->is_number() ? parse_uint64(member->literal()) : std::nullopt;
}

// <address>; rel="next"
std::string next_link(const HttpReply& reply) {
  const std::string links = reply.header("link").value_or("");
  for (const std::string_view part : split(links, ',')) {
    const size_t open = part.find('<'), close = part.find('>');
    if (open < close && close != std::string_view::npos &&
        part.find("rel=\"next\"", close) != std::string_view::npos) {
      return std::string(part.substr(open + 1, close - open - 1));
    }
  }
  return "";
}

Refusal unexpected(std::string_view what) {
  return Refusal(kStoreReply, std::string(what));
}

}  // namespace

bool HubFile::already_there() const {
  if (known_oid.empty()) return false;
  return known_oid == (large ? sha256 : git_blob_sha1(bytes));
}

HubApi::HubApi(HubPlace place, Patience patience, std::unique_ptr<HttpClient> client)
    : place_(std::move(place)), patience_(std::move(patience)), client_(std::move(client)) {}

std::string HubApi::api(std::string_view rest) const {
  return cat(place_.endpoint, "/api/", place_.kind, "/", place_.name, "/", rest);
}

std::string HubApi::repository() const {
  return cat(place_.endpoint, "/", place_.kind, "/", place_.name);
}

HttpRequest HubApi::request(std::string method, std::string url, std::string_view body,
                            std::string content_type) const {
  HttpRequest out;
  out.method = std::move(method);
  out.url = std::move(url);
  out.body = body;
  if (!content_type.empty()) out.headers.emplace_back("content-type", std::move(content_type));
  // The token is for the hub, not for the storage that the hub sends us to.
  if (host_of(out.url) == host_of(place_.endpoint)) out.bearer = place_.token;
  return out;
}

Result<HttpReply> HubApi::send(const HttpRequest& request) {
  TRY(answer, send_patiently(*client_, request, patience_));
  return std::move(answer.reply);
}

Result<json::Value> HubApi::send_for_json(const HttpRequest& request,
                                          const RefusalInfo& otherwise) {
  TRY(reply, send(request));
  if (!reply.ok()) return problem(reply, otherwise);
  auto value = json::parse(reply.body, {.last_duplicate_wins = true});
  if (!value) {
    return unexpected(cat(request.method, " ", shown_url(request.url),
                          ": the reply is no JSON: ", value.refusal().detail));
  }
  return value;
}

std::string HubApi::token_rights() {
  const auto who = client_->send(request("GET", cat(place_.endpoint, "/api/whoami-v2")));
  if (!who || !who->ok()) return "";
  const auto value = json::parse(who->body, {.last_duplicate_wins = true});
  if (!value) return "";
  const json::Value* auth = object_in(*value, "auth");
  const json::Value* token = auth != nullptr ? object_in(*auth, "accessToken") : nullptr;
  if (token == nullptr) return "";
  const std::string role = text_in(*token, "role");
  return role.empty()
             ? ""
             : cat("; the token `", one_line(text_in(*token, "displayName")), "` of `",
                   one_line(text_in(*value, "name")), "` has the role `", one_line(role), "`");
}

Refusal HubApi::problem(const HttpReply& reply, const RefusalInfo& otherwise) {
  const std::string code = reply.header("x-error-code").value_or("");
  std::string said = reply.header("x-error-message").value_or("");
  if (said.empty()) {
    const auto value = json::parse(reply.body, {.last_duplicate_wins = true});
    if (value) said = text_in(*value, text_in(*value, "error").empty() ? "message" : "error");
  }
  said = one_line(said);
  const std::string where = cat("`", place_.url(), "` at ", host_of(place_.endpoint));
  const auto id = reply.header("x-request-id");
  std::string tail =
      cat(" (HTTP ", reply.status, code.empty() ? "" : " ", one_line(code),
          said.empty() ? "" : ": ", said, id ? ", request " : "", one_line(id.value_or("")), ")");
  hide(tail, {place_.token});
  if (code == "GatedRepo") {
    return Refusal(kStoreCredentialsRefused,
                   cat(where, ": its owner must grant access first", tail));
  }
  if (code == "RevisionNotFound") {
    return Refusal(kStoreNotFound,
                   cat(where, ": there is no revision `", place_.revision, "`", tail));
  }
  const bool wrong_token = said.find("Invalid credentials") != std::string::npos ||
                           said.find("Invalid username or password") != std::string::npos;
  if (reply.status == 401 && wrong_token) {
    return Refusal(kStoreCredentialsRefused,
                   cat(where, ": the hub does not know this token; make a new one", tail));
  }
  if (code == "RepoNotFound" || reply.status == 401) {
    return Refusal(kStoreNotFound,
                   cat(where, ": there is no such repository, or this token may not see it", tail));
  }
  if (reply.status == 403) {
    return Refusal(kStoreCredentialsRefused,
                   cat(where,
                       ": the token lacks the scope to write here: it needs the role `write`, "
                       "or, fine-grained, `repo.write` on ",
                       place_.kind, "/", place_.name, " (`discussion.write` for a pull request)",
                       token_rights(), tail));
  }
  return Refusal(otherwise, cat(where, tail));
}

Result<std::optional<HubContent>> HubApi::read(const std::string& revision, std::string_view path) {
  std::string url = cat(repository(), "/resolve/", percent_encode(revision, false), "/",
                        percent_encode(path, true));
  HubContent content;
  std::string digest;
  for (int hop = 0; hop < 6; ++hop) {
    HttpRequest ask = request("GET", url);
    ask.reply_bytes_max = kRemoteFileMax;
    TRY(reply, send(ask));
    if (content.commit.empty()) content.commit = reply.header("x-repo-commit").value_or("");
    // Of a large file the hub's own reply (not the storage's) states the SHA-256.
    if (digest.empty()) digest = reply.header("x-linked-etag").value_or("");
    if (reply.status >= 300 && reply.status < 400) {
      const auto location = reply.header("location");
      if (!location) return unexpected(cat(shown_url(url), ": a redirect without an address"));
      url = absolute_url(url, *location);
      if (!url.starts_with("https://")) TRY_DO(check_secret_may_go(url));
      continue;
    }
    const std::string code = reply.header("x-error-code").value_or("");
    if (reply.status == 404 && (code.empty() || code == "EntryNotFound"))
      return std::optional<HubContent>();
    if (!reply.ok()) return problem(reply, kStoreRead);
    content.bytes = std::move(reply.body);
    std::erase(digest, '"');
    if (is_lower_hex(digest, 64) && digest != sha256_hex(content.bytes)) {
      return Refusal(kStoreDamaged, cat("`", place_.url(), "/", path,
                                        "` is not what the hub says: "
                                        "its SHA-256 should be ",
                                        digest));
    }
    return std::optional<HubContent>(std::move(content));
  }
  return unexpected(cat(shown_url(url), ": too many redirects"));
}

Result<std::string> HubApi::commit_of(const std::string& revision) {
  TRY(reply, send(request("GET", api(cat("revision/", percent_encode(revision, false))))));
  if (reply.status == 404 && !reply.header("x-error-code")) return std::string();
  if (!reply.ok()) return problem(reply, kStoreRead);
  const auto value = json::parse(reply.body, {.last_duplicate_wins = true});
  return value ? text_in(*value, "sha") : std::string();
}

Result<std::vector<StoredFile>> HubApi::list(const std::string& revision, std::string_view folder) {
  std::vector<StoredFile> files;
  std::string url = api(cat("tree/", percent_encode(revision, false), "/",
                            percent_encode(folder, true), "?recursive=true&expand=false"));
  for (int page = 0; !url.empty(); ++page) {
    if (page == 10'000) return unexpected("the dataset's listing does not end");
    TRY(reply, send(request("GET", url)));
    const std::string code = reply.header("x-error-code").value_or("");
    if (reply.status == 404 && (code.empty() || code == "EntryNotFound")) break;
    if (!reply.ok()) return problem(reply, kStoreRead);
    const auto value = json::parse(reply.body, {.last_duplicate_wins = true});
    if (!value || !value->is_array()) return unexpected("the dataset's listing is no JSON array");
    for (const json::Value& item : value->items()) {
      const std::string path = text_in(item, "path");
      if (text_in(item, "type") != "file" || !is_plain_path(path)) continue;
      files.push_back({path, count_in(item, "size").value_or(0)});
    }
    const std::string next = next_link(reply);
    const std::string following = next.empty() ? "" : absolute_url(url, next);
    if (!following.empty() && host_of(following) != host_of(place_.endpoint))
      return unexpected("the dataset's listing goes on at another host");
    url = following;
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

Status HubApi::preupload(const std::string& revision, bool create_pr, std::vector<HubFile>& files) {
  std::vector<json::Value> list;
  for (HubFile& file : files) {
    file.sha256 = sha256_hex(file.bytes);
    list.push_back(json::Value::object({{"path", file.path},
                                        {"sample", base64(file.bytes.substr(0, 512))},
                                        {"size", static_cast<uint64_t>(file.bytes.size())}}));
  }
  const std::string body =
      json::write(json::Value::object({{"files", json::Value::array(std::move(list))}}));
  TRY(value, send_for_json(request("POST",
                                   api(cat("preupload/", percent_encode(revision, false),
                                           create_pr ? "?create_pr=1" : "")),
                                   body, "application/json"),
                           kStoreWrite));
  const json::Value* answers = value.is_object() ? value.find("files") : nullptr;
  if (answers == nullptr || !answers->is_array()) return unexpected("preupload: no `files`");
  for (HubFile& file : files) {
    const json::Value* answer = nullptr;
    for (const json::Value& item : answers->items()) {
      if (text_in(item, "path") == file.path) answer = &item;
    }
    const std::string mode = answer != nullptr ? text_in(*answer, "uploadMode") : "";
    if (mode != "lfs" && mode != "regular")
      return unexpected(cat("preupload: no upload mode for `", file.path, "`"));
    if (const json::Value* ignored = answer->find("shouldIgnore");
        ignored != nullptr && ignored->kind() == json::Kind::boolean && ignored->boolean()) {
      return Refusal(kStoreWrite,
                     cat("`", file.path, "` is ignored by the repository's .gitignore"));
    }
    file.large = mode == "lfs" && !file.bytes.empty();
    file.known_oid = text_in(*answer, "oid");
  }
  return {};
}

Status HubApi::upload(const std::string& revision, const HubFile& file) {
  const auto size = static_cast<uint64_t>(file.bytes.size());
  const json::Value object = json::Value::object({{"oid", file.sha256}, {"size", size}});
  const std::string body =
      json::write(json::Value::object({{"operation", "upload"},
                                       {"transfers", json::Value::array({"basic", "multipart"})},
                                       {"objects", json::Value::array({object})},
                                       {"hash_algo", "sha256"},
                                       {"ref", json::Value::object({{"name", revision}})}}));
  HttpRequest batch = request("POST", cat(repository(), ".git/info/lfs/objects/batch"), body,
                              std::string(kLfsType));
  batch.headers.emplace_back("accept", std::string(kLfsType));
  TRY(value, send_for_json(batch, kStoreWrite));
  const json::Value* objects = value.is_object() ? value.find("objects") : nullptr;
  if (objects == nullptr || !objects->is_array() || objects->items().size() != 1 ||
      text_in(objects->items()[0], "oid") != file.sha256) {
    return unexpected(cat("the large-file batch does not answer for `", file.path, "`"));
  }
  const json::Value& answer = objects->items()[0];
  if (const json::Value* error = object_in(answer, "error")) {
    std::string said = one_line(text_in(*error, "message"));
    hide(said, {place_.token});
    return Refusal(kStoreWrite, cat("the hub does not take `", file.path, "`: ", said));
  }
  const json::Value* actions = object_in(answer, "actions");
  const json::Value* put = actions != nullptr ? object_in(*actions, "upload") : nullptr;
  if (put == nullptr) return {};  // it has these bytes already
  const std::string href = text_in(*put, "href");
  const json::Value* header = object_in(*put, "header");
  const auto chunk = header != nullptr ? count_in(*header, "chunk_size") : std::nullopt;
  if (chunk) {
    TRY_DO(put_multipart(href, *header, *chunk, file));
  } else {
    TRY_DO(put_part(href, file.bytes, nullptr));
  }
  const json::Value* verify = object_in(*actions, "verify");
  if (verify == nullptr) return {};
  const std::string facts = json::write(object);
  HttpRequest check = request("POST", text_in(*verify, "href"), facts, std::string(kLfsType));
  check.headers.emplace_back("accept", std::string(kLfsType));
  TRY(reply, send(check));
  if (reply.ok()) return {};
  if (reply.status == 401 || reply.status == 403) return problem(reply, kStoreWrite);
  return Refusal(kStoreDamaged, cat("the hub did not find `", file.path,
                                    "` whole after its upload (HTTP ", reply.status, ")"));
}

Status HubApi::put_part(const std::string& url, std::string_view bytes, std::string* etag) {
  TRY_DO(check_secret_may_go(url));  // the address itself is signed: a secret
  HttpRequest put;                   // and never with the token
  put.method = "PUT";
  put.url = url;
  put.body = bytes;
  TRY(reply, send(put));
  if (!reply.ok()) {
    return Refusal(kStoreWrite,
                   cat("PUT ", shown_url(url), ": the storage answered HTTP ", reply.status));
  }
  if (etag == nullptr) return {};
  *etag = reply.header("etag").value_or("");
  if (etag->empty())
    return unexpected(cat("PUT ", shown_url(url), ": the storage gave no ETag for a part"));
  return {};
}

Status HubApi::put_multipart(const std::string& complete_url, const json::Value& header,
                             uint64_t chunk_size, const HubFile& file) {
  std::vector<std::pair<uint64_t, std::string>> urls;
  for (const auto& [key, value] : header.members()) {
    const auto number = parse_uint64(key);
    if (number && value.is_string()) urls.emplace_back(*number, value.string());
  }
  std::sort(urls.begin(), urls.end());
  const uint64_t wanted = chunk_size == 0 ? 0 : (file.bytes.size() + chunk_size - 1) / chunk_size;
  if (wanted == 0 || urls.size() != wanted) {
    return unexpected(cat("the large-file batch gives ", urls.size(), " parts of ", chunk_size,
                          " bytes for `", file.path, "` of ", file.bytes.size(), " bytes"));
  }
  std::vector<json::Value> parts;
  for (size_t i = 0; i < urls.size(); ++i) {
    std::string etag;
    TRY_DO(put_part(urls[i].second, file.bytes.substr(i * chunk_size, chunk_size), &etag));
    parts.push_back(
        json::Value::object({{"partNumber", static_cast<uint64_t>(i + 1)}, {"etag", etag}}));
  }
  const std::string body = json::write(
      json::Value::object({{"oid", file.sha256}, {"parts", json::Value::array(std::move(parts))}}));
  HttpRequest complete;
  complete.method = "POST";
  complete.url = complete_url;
  complete.body = body;
  complete.headers = {{"content-type", std::string(kLfsType)}, {"accept", std::string(kLfsType)}};
  TRY_DO(check_secret_may_go(complete_url));
  TRY(reply, send(complete));
  if (reply.ok()) return {};
  return Refusal(kStoreWrite, cat("POST ", shown_url(complete_url), ": the parts of `", file.path,
                                  "` were not joined (HTTP ", reply.status, ")"));
}

Result<CommitAttempt> HubApi::commit(const std::string& revision, bool create_pr,
                                     const std::string& parent, std::string_view summary,
                                     const std::vector<HubFile>& files,
                                     const std::vector<std::string>& removed) {
  json::Value head = json::Value::object({{"summary", summary}, {"description", ""}});
  if (!parent.empty()) head.set("parentCommit", parent);
  std::string body =
      json::write(json::Value::object({{"key", "header"}, {"value", std::move(head)}})) + "\n";
  for (const HubFile& file : files) {
    json::Value value =
        file.large
            ? json::Value::object({{"path", file.path},
                                   {"algo", "sha256"},
                                   {"oid", file.sha256},
                                   {"size", static_cast<uint64_t>(file.bytes.size())}})
            : json::Value::object(
                  {{"content", base64(file.bytes)}, {"path", file.path}, {"encoding", "base64"}});
    body += json::write(json::Value::object(
                {{"key", file.large ? "lfsFile" : "file"}, {"value", std::move(value)}})) +
            "\n";
  }
  for (const std::string& path : removed) {
    body += json::write(json::Value::object(
                {{"key", "deletedFile"}, {"value", json::Value::object({{"path", path}})}})) +
            "\n";
  }
  const HttpRequest ask = request(
      "POST", api(cat("commit/", percent_encode(revision, false), create_pr ? "?create_pr=1" : "")),
      body, "application/x-ndjson");
  const auto reply = client_->send(ask);
  CommitAttempt attempt;
  if (!reply) {
    if (reply.refusal().code != kStoreUnreachable.code) return reply.refusal();
    attempt.outcome = CommitAttempt::uncertain;
    attempt.problem = reply.refusal().detail;
    return attempt;
  }
  if (is_transient(reply->status)) {
    attempt.outcome = reply->status == 429 ? CommitAttempt::turned_away : CommitAttempt::uncertain;
    attempt.problem = cat("POST ", shown_url(ask.url), ": HTTP ", reply->status);
    if (reply->status == 429 || reply->header("retry-after"))
      attempt.pause = pause_before(0, &*reply);
    return attempt;
  }
  if (reply->status == 412 || reply->status == 409) {
    attempt.outcome = CommitAttempt::moved;
    return attempt;
  }
  if (!reply->ok()) return problem(*reply, kStoreWrite);
  const auto value = json::parse(reply->body, {.last_duplicate_wins = true});
  if (!value) return unexpected("commit: the reply is no JSON");
  attempt.commit = text_in(*value, "commitOid");
  attempt.pull_request = text_in(*value, "pullRequestUrl");
  return attempt;
}

}  // namespace assay::publish
