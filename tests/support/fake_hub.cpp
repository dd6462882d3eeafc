#include "support/fake_hub.h"

#include <openssl/evp.h>

#include <cstdio>

#include "base/json.h"

namespace assay::testing_support {

namespace {

using json::Value;

std::string hex_digest(const EVP_MD* kind, const std::string& bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), out, &size, kind, nullptr);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", out[i]);
    text += digits;
  }
  return text;
}

std::string sha256_of(const std::string& bytes) {
  return hex_digest(EVP_sha256(), bytes);
}

std::string blob_name(const std::string& bytes) {
  return hex_digest(EVP_sha1(), "blob " + std::to_string(bytes.size()) + '\0' + bytes);
}

std::string base64_decoded(const std::string& text) {
  std::string out(text.size() / 4 * 3 + 1, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  out.resize(static_cast<size_t>(size < 0 ? 0 : size));
  for (size_t i = text.size(); i > 0 && text[i - 1] == '='; --i) out.pop_back();
  return out;
}

WireReply json_reply(const Value& value) {
  return {.headers = {{"content-type", "application/json"}}, .body = json::write(value)};
}

WireReply hub_error(int status, const std::string& code, const std::string& message) {
  WireReply reply{.status = status, .headers = {{"x-request-id", "Root=1-test"}}};
  if (!code.empty()) reply.headers.emplace_back("x-error-code", code);
  reply.headers.emplace_back("x-error-message", message);
  reply.body = json::write(Value::object({{"error", message}}));
  return reply;
}

Value parsed(const std::string& text) {
  const auto value = json::parse(text);
  return value ? *value : Value();
}

std::string text_at(const Value& value, const char* key) {
  const Value* member = value.is_object() ? value.find(key) : nullptr;
  return member != nullptr && member->is_string() ? member->string() : "";
}

}  // namespace

FakeHub::FakeHub(HubRules given)
    : rules(std::move(given)),
      storage_([this](const WireRequest& request) { return store(request); }),
      server_([this](const WireRequest& request) { return handle(request); }) {
  revisions_["main"].push_back({.oid = std::string(40, '0'),
                                .parent = "",
                                .summary = "initial commit",
                                .files = {},
                                .changed = {}});
}

const std::vector<FakeHub::Commit>& FakeHub::commits(const std::string& revision) {
  return revisions_[revision];
}

const std::map<std::string, FakeHub::File>& FakeHub::files(const std::string& revision) {
  return revisions_[revision].back().files;
}

void FakeHub::commit_from_elsewhere(const std::string& path, const std::string& bytes, bool large) {
  Commit next{.oid = {},
              .parent = revisions_["main"].back().oid,
              .summary = "elsewhere",
              .files = revisions_["main"].back().files,
              .changed = {path}};
  next.files[path] = {bytes, large};
  add("main", std::move(next));
}

void FakeHub::add(const std::string& revision, Commit commit) {
  std::string seed = revision + commit.parent + commit.summary;
  for (const std::string& path : commit.changed) {
    const auto found = commit.files.find(path);
    seed += path + (found == commit.files.end() ? "" : found->second.bytes);
  }
  commit.oid = hex_digest(EVP_sha1(), seed);
  revisions_[revision].push_back(std::move(commit));
}

// A branch, a pull request or a commit.
FakeHub::Commit* FakeHub::at(const std::string& revision) {
  if (const auto found = revisions_.find(revision); found != revisions_.end())
    return &found->second.back();
  for (auto& [name, list] : revisions_) {
    for (Commit& commit : list) {
      if (commit.oid == revision) return &commit;
    }
  }
  return nullptr;
}

WireReply FakeHub::handle(const WireRequest& request) {
  const Intervention what = intervene ? intervene(request) : Intervention{};
  if (what.reply && !what.acted) return *what.reply;
  WireReply real = act(request);
  return what.reply ? *what.reply : real;
}

WireReply FakeHub::act(const WireRequest& request) {
  const auto authorization = request.header("authorization");
  const bool known = authorization == "Bearer " + rules.token;
  if (authorization && !known)
    return hub_error(401, "", "Invalid credentials in Authorization header");
  if (request.target == "/api/whoami-v2") {
    if (!known) return hub_error(401, "", "Invalid credentials in Authorization header");
    return json_reply(Value::object(
        {{"name", "tester"},
         {"auth", Value::object({{"accessToken", Value::object({{"displayName", "laptop"},
                                                                {"role", rules.role}})}})}}));
  }
  const std::string info = "/api/" + rules.kind + "/" + rules.dataset;
  if (request.path() == info && known)
    return json_reply(Value::object({{"id", rules.dataset},
                                     {"_id", "1"},
                                     {"sha", at("main")->oid},
                                     {"private", false},
                                     {"tags", Value::array()},
                                     {"siblings", Value::array()}}));
  const std::string api = "/api/" + rules.kind + "/" + rules.dataset + "/";
  const std::string plain = "/" + rules.kind + "/" + rules.dataset;
  const std::string path = request.path();
  const bool ours =
      path.starts_with(api) || path.starts_with(plain + "/") || path.starts_with(plain + ".git/");
  if (!ours) return hub_error(401, "RepoNotFound", "Repository not found");
  const bool writes = request.method == "POST" && path != plain + ".git/info/lfs/verify";
  if (request.method == "POST" && !known)
    return hub_error(401, "", "Invalid username or password.");
  if (writes && rules.role != "write")
    return hub_error(403, "", "Forbidden: you must use a write token to upload to a repository.");
  if (path == plain + ".git/info/lfs/objects/batch") return batch(request);
  if (path == plain + ".git/info/lfs/verify") return verify(request);
  if (path.starts_with(plain + "/resolve/")) {
    const std::string rest = path.substr(plain.size() + 9);
    const size_t slash = rest.find('/');
    return resolve(url_decode(rest.substr(0, slash)), url_decode(rest.substr(slash + 1)));
  }
  if (!path.starts_with(api)) return hub_error(404, "", "no such page");
  const std::string rest = path.substr(api.size());
  const size_t slash = rest.find('/');
  const std::string verb = rest.substr(0, slash), tail = rest.substr(slash + 1);
  const std::string revision = url_decode(tail.substr(0, tail.find('/')));
  if (at(revision) == nullptr)
    return hub_error(404, "RevisionNotFound", "Invalid rev id: " + revision);
  if (verb == "preupload") return preupload(request, revision);
  if (verb == "commit") return commit(request, revision);
  if (verb == "revision") {
    if (!rules.tells_commit) return hub_error(404, "", "no such page");
    return json_reply(Value::object({{"id", rules.dataset}, {"sha", at(revision)->oid}}));
  }
  if (verb == "tree") return tree(request, revision, url_decode(tail.substr(tail.find('/') + 1)));
  return hub_error(404, "", "no such page");
}

WireReply FakeHub::preupload(const WireRequest& request, const std::string& revision) {
  std::vector<Value> answers;
  const Value body = parsed(request.body);
  if (!body.is_object() || body.find("files") == nullptr) return hub_error(400, "", "no files");
  for (const Value& file : body.find("files")->items()) {
    const std::string path = text_at(file, "path");
    const bool large = path.ends_with(".parquet");
    Value answer =
        Value::object({{"path", path},
                       {"uploadMode", large ? "lfs" : "regular"},
                       {"shouldIgnore", rules.ignores_data && path.starts_with("data/")}});
    const auto& files = at(revision)->files;
    if (const auto found = files.find(path); found != files.end()) {
      answer.set("oid", found->second.large ? sha256_of(found->second.bytes)
                                            : blob_name(found->second.bytes));
    }
    answers.push_back(std::move(answer));
  }
  return json_reply(Value::object({{"files", Value::array(std::move(answers))}}));
}

WireReply FakeHub::batch(const WireRequest& request) {
  const Value body = parsed(request.body);
  if (text_at(body, "operation") != "upload" || text_at(body, "hash_algo") != "sha256" ||
      request.header("content-type") != "application/vnd.git-lfs+json" ||
      request.header("accept") != "application/vnd.git-lfs+json")
    return hub_error(422, "", "not a batch");
  std::vector<Value> answers;
  for (const Value& object : body.find("objects")->items()) {
    const std::string oid = text_at(object, "oid");
    const auto size = *object.find("size")->as_uint64("size");
    Value answer = Value::object({{"oid", oid}, {"size", size}});
    if (!large_files_.contains(oid)) {
      Value upload = Value::object();
      const std::string href = storage_.url() + "/" + oid + "?X-Amz-Signature=topsecret";
      upload.set("href", href);
      if (rules.chunk_bytes > 0) {
        Value header = Value::object({{"chunk_size", std::to_string(rules.chunk_bytes)}});
        const size_t parts = (size + rules.chunk_bytes - 1) / rules.chunk_bytes;
        for (size_t i = 1; i <= parts; ++i) {
          char key[16];
          std::snprintf(key, sizeof key, "%05zu", i);
          header.set(key, storage_.url() + "/" + oid + "/" + std::to_string(i) +
                              "?X-Amz-Signature=topsecret");
        }
        upload.set("header", std::move(header));
      }
      answer.set(
          "actions",
          Value::object(
              {{"upload", std::move(upload)},
               {"verify", Value::object({{"href", server_.url() + "/" + rules.kind + "/" +
                                                      rules.dataset + ".git/info/lfs/verify"}})}}));
    }
    answers.push_back(std::move(answer));
  }
  return json_reply(Value::object({{"transfer", rules.chunk_bytes > 0 ? "multipart" : "basic"},
                                   {"objects", Value::array(std::move(answers))}}));
}

// The storage: it is another host, and is told where and how much by the address alone.
WireReply FakeHub::store(const WireRequest& request) {
  if (request.header("authorization")) return {.status = 400, .body = "the token came along"};
  const std::string name = request.path().substr(1);
  if (request.method == "GET") {
    const auto found = large_files_.find(name);
    if (found == large_files_.end()) return {.status = 404};
    return {.body = found->second};
  }
  std::string bytes = request.body;
  if (rules.damage && !bytes.empty()) bytes[bytes.size() / 2] ^= 1;
  if (request.method == "POST") {  // all parts are there
    const Value body = parsed(request.body);
    std::string whole;
    for (const Value& part : body.find("parts")->items()) {
      const std::string key = name + "/" + part.find("partNumber")->literal();
      if (text_at(part, "etag") != "\"" + hex_digest(EVP_md5(), parts_[key]) + "\"")
        return {.status = 400};
      whole += parts_[key];
    }
    large_files_[name] = whole;
    return {};
  }
  if (name.find('/') == std::string::npos) {
    large_files_[name] = bytes;
    return {};
  }
  parts_[name] = bytes;
  if (rules.lose_etags) return {};
  return {.headers = {{"etag", "\"" + hex_digest(EVP_md5(), bytes) + "\""}}};
}

WireReply FakeHub::verify(const WireRequest& request) const {
  const Value body = parsed(request.body);
  const auto found = large_files_.find(text_at(body, "oid"));
  if (found == large_files_.end()) return hub_error(404, "", "no such object");
  if (sha256_of(found->second) != found->first ||
      std::to_string(found->second.size()) != body.find("size")->literal())
    return hub_error(400, "", "the object is not what it should be");
  return {};
}

WireReply FakeHub::commit(const WireRequest& request, std::string revision) {
  if (request.header("content-type") != "application/x-ndjson")
    return hub_error(400, "", "expected ndjson");
  const auto lines = json::parse_many(request.body);
  if (!lines || lines->empty() || text_at(lines->front(), "key") != "header")
    return hub_error(400, "", "no header");
  const Value& head = *lines->front().find("value");
  const std::string parent = text_at(head, "parentCommit");
  const Commit* base = at(revision);
  if (!parent.empty() && parent != base->oid)
    return hub_error(412, "", "A commit has happened since. Please refresh and try again.");
  Commit next{.oid = {},
              .parent = base->oid,
              .summary = text_at(head, "summary"),
              .files = base->files,
              .changed = {}};
  for (size_t i = 1; i < lines->size(); ++i) {
    const Value& value = *(*lines)[i].find("value");
    const std::string path = text_at(value, "path");
    if (text_at((*lines)[i], "key") == "deletedFile") {
      if (next.files.erase(path) == 0) return hub_error(400, "", path + " does not exist");
    } else if (text_at((*lines)[i], "key") == "lfsFile") {
      const auto found = large_files_.find(text_at(value, "oid"));
      if (found == large_files_.end()) return hub_error(400, "", "LFS pointer points to nothing");
      next.files[path] = {found->second, true};
    } else {
      next.files[path] = {base64_decoded(text_at(value, "content")), false};
    }
    next.changed.push_back(path);
  }
  Value reply = Value::object({{"success", true}});
  if (request.query() == "create_pr=1") {
    const int number = ++pull_requests_;
    revision = "refs/pr/" + std::to_string(number);
    reply.set("pullRequestUrl", server_.url() + "/" + rules.kind + "/" + rules.dataset +
                                    "/discussions/" + std::to_string(number));
  }
  add(revision, std::move(next));
  reply.set("commitOid", revisions_[revision].back().oid);
  reply.set("commitUrl", server_.url() + "/" + rules.kind + "/" + rules.dataset + "/commit/" +
                             revisions_[revision].back().oid);
  return json_reply(reply);
}

WireReply FakeHub::tree(const WireRequest& request, const std::string& revision,
                        const std::string& folder) {
  std::vector<Value> items;
  std::string after, last;
  if (const size_t cursor = request.query().find("cursor="); cursor != std::string::npos)
    after = url_decode(request.query().substr(cursor + 7));
  bool more = false, any = false;
  for (const auto& [path, file] : at(revision)->files) {
    if (!path.starts_with(folder + "/")) continue;
    any = true;
    if (path <= after) continue;
    if (items.size() == rules.tree_page) {
      more = true;
      break;
    }
    last = path;
    items.push_back(Value::object({{"type", "file"},
                                   {"oid", blob_name(file.bytes)},
                                   {"size", static_cast<uint64_t>(file.bytes.size())},
                                   {"path", path}}));
  }
  if (!any)
    return hub_error(404, "EntryNotFound", folder + " does not exist on \"" + revision + "\"");
  WireReply reply = json_reply(Value::array(std::move(items)));
  if (more) {
    reply.headers.emplace_back("link", "<" + server_.url() + request.path() +
                                           "?recursive=true&expand=false&cursor=" + last +
                                           ">; rel=\"next\"");
  }
  return reply;
}

WireReply FakeHub::resolve(const std::string& revision, const std::string& path) {
  const Commit* commit = at(revision);
  if (commit == nullptr) return hub_error(404, "RevisionNotFound", "Invalid rev id: " + revision);
  WireReply reply;
  const auto found = commit->files.find(path);
  if (found == commit->files.end()) reply = hub_error(404, "EntryNotFound", "Entry not found");
  if (rules.tells_commit) reply.headers.emplace_back("x-repo-commit", commit->oid);
  if (found == commit->files.end()) return reply;
  if (!found->second.large) {
    reply.headers.emplace_back("etag", "\"" + blob_name(found->second.bytes) + "\"");
    reply.body = found->second.bytes;
    return reply;
  }
  const std::string name = sha256_of(found->second.bytes);
  large_files_.try_emplace(name, found->second.bytes);
  reply.status = 302;
  reply.headers.emplace_back("x-linked-etag", "\"" + name + "\"");
  reply.headers.emplace_back("x-linked-size", std::to_string(found->second.bytes.size()));
  reply.headers.emplace_back("location", storage_.url() + "/" + name + "?Signature=topsecret");
  return reply;
}

}  // namespace assay::testing_support
