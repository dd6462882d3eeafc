// s3://BUCKET/PREFIX: a store in an object store that speaks S3 (AWS, R2, MinIO and others).
//
// Writes are conditional, so that nothing published is ever replaced: If-None-Match: * for a new
// file, If-Match with the tag of the content that was read for the run index. Every write carries
// Content-MD5 and the SHA-256 of its bytes (in x-amz-content-sha256, which is signed), so the
// server refuses bytes that changed on the way; the SHA-256 stays with the object as
// x-amz-meta-sha256 and is checked when the object is read.
#include <algorithm>
#include <map>

#include "base/sha256.h"
#include "base/text.h"
#include "publish/encoding.h"
#include "publish/refusals.h"
#include "publish/remote_store.h"
#include "publish/s3_place.h"
#include "publish/s3_xml.h"

namespace assay::publish {

namespace {

constexpr int kConflictsMax = 5;

class S3Store final : public Store {
 public:
  S3Store(S3Place place, Outside outside, std::unique_ptr<HttpClient> client)
      : place_(std::move(place)), outside_(std::move(outside)), client_(std::move(client)) {}

  Result<PutOutcome> put_once(std::string_view path, std::string_view bytes) override {
    TRY_DO(check(path));
    TRY(before, compare(path, bytes));
    if (before == Found::same) return PutOutcome::already_there;
    bool repeated = false;
    for (int conflict = 0; conflict < kConflictsMax; ++conflict) {
      TRY(answer, put(path, bytes, {"if-none-match", "*"}));
      if (answer.reply.ok()) return PutOutcome::created;
      repeated = repeated || answer.repeated;
      if (answer.reply.status == 412) {
        TRY(now, compare(path, bytes));
        // The object is ours when an attempt whose reply was lost had put it there.
        if (now == Found::same) return repeated ? PutOutcome::created : PutOutcome::already_there;
      } else if (answer.reply.status != 409) {
        return problem(answer.reply, "s3:PutObject", kStoreWrite);
      }
      outside_.patience.sleep(pause_before(conflict, nullptr));
    }
    return Refusal(kStoreWrite, cat("`", shown(path), "` stayed in conflict with other writers"));
  }

  Result<bool> replace(std::string_view path, const std::optional<std::string>& expected,
                       std::string_view bytes) override {
    TRY_DO(check(path));
    std::pair<std::string, std::string> condition{"if-none-match", "*"};
    if (expected) {
      const auto seen = tags_.find(path);
      std::string tag;
      if (seen != tags_.end() && seen->second.sha256 == sha256_hex(*expected)) {
        tag = seen->second.etag;
      } else {
        TRY(current, fetch(path));
        if (!current || current->bytes != *expected) return false;
        tag = current->etag;
      }
      if (tag.empty()) return Refusal(kStoreNotConditional, cat("`", shown(path), "` has no ETag"));
      condition = {"if-match", tag};
    }
    tags_.erase(std::string(path));
    TRY(answer, put(path, bytes, condition));
    const HttpReply& reply = answer.reply;
    if (reply.ok()) return true;
    // 404: the object that was to be replaced is gone.
    if (reply.status != 412 && reply.status != 409 &&
        !(reply.status == 404 && expected && s3_error(reply).code == "NoSuchKey")) {
      return problem(reply, "s3:PutObject", kStoreWrite);
    }
    if (!answer.repeated) return false;
    TRY(current, fetch(path));
    return current && current->bytes == bytes;
  }

  Result<std::optional<std::string>> get(std::string_view path) override {
    TRY_DO(check(path));
    TRY(object, fetch(path));
    if (!object) return std::optional<std::string>();
    return std::optional<std::string>(std::move(object->bytes));
  }

  Result<std::vector<StoredFile>> list(std::string_view folder) override {
    TRY_DO(check(folder));
    std::vector<StoredFile> files;
    std::string token;
    for (;;) {
      // Query keys in order, as they are signed.
      std::string query;
      if (!token.empty()) query = cat("continuation-token=", percent_encode(token, false), "&");
      query += cat("encoding-type=url&list-type=2&prefix=",
                   percent_encode(cat(place_.key_of(folder), "/"), false));
      TRY(answer, send("GET", place_.bucket_url(query), {}, {}));
      if (!answer.reply.ok()) return problem(answer.reply, "s3:ListBucket", kStoreRead);
      TRY(page, parse_s3_listing(answer.reply.body));
      for (const S3Listing::Object& object : page.objects) {
        const auto path = place_.path_of(object.key);
        if (!path || !is_plain_path(*path)) continue;  // "folders" of consoles, foreign names
        files.push_back({*path, object.size_bytes});
      }
      if (page.next_token.empty()) break;
      if (page.next_token == token)
        return Refusal(kStoreReply, "the listing gives the same page again");
      token = page.next_token;
    }
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
  }

  [[nodiscard]] std::string url() const override { return place_.url(); }

 private:
  enum class Found { absent, same };
  struct Object {
    std::string bytes, etag;
  };
  struct Seen {
    std::string sha256, etag;
  };

  static Status check(std::string_view path) {
    if (is_plain_path(path)) return {};
    return Refusal(kStoreUrl, cat("`", path, "` is no plain relative path"));
  }
  [[nodiscard]] std::string shown(std::string_view path) const { return cat(url(), "/", path); }

  Result<PatientReply> send(std::string method, std::string url,
                            std::vector<std::pair<std::string, std::string>> headers,
                            std::string_view body, uint64_t reply_max = uint64_t{16} << 20) {
    HttpRequest request;
    request.method = std::move(method);
    request.url = std::move(url);
    request.headers = std::move(headers);
    request.headers.emplace_back("x-amz-content-sha256", sha256_hex(body));
    request.body = body;
    request.reply_bytes_max = reply_max;
    if (!place_.signer.access_key.empty()) request.signer = &place_.signer;
    return send_patiently(*client_, request, outside_.patience);
  }

  Result<PatientReply> put(std::string_view path, std::string_view bytes,
                           const std::pair<std::string, std::string>& condition) {
    return send("PUT", place_.object_url(path),
                {{"content-md5", base64(md5(bytes))},
                 {"content-type", "application/octet-stream"},
                 condition,
                 {"x-amz-meta-sha256", sha256_hex(bytes)}},
                bytes);
  }

  Result<std::optional<Object>> fetch(std::string_view path) {
    TRY(answer, send("GET", place_.object_url(path), {}, {}, kRemoteFileMax));
    HttpReply& reply = answer.reply;
    if (reply.status == 404 && s3_error(reply).code != "NoSuchBucket")
      return std::optional<Object>();
    // Without s3:ListBucket a store calls what is missing forbidden.
    if (!reply.ok()) return problem(reply, "s3:GetObject or s3:ListBucket", kStoreRead);
    const std::string digest = sha256_hex(reply.body);
    const auto noted = reply.header("x-amz-meta-sha256");
    if (noted && *noted != digest) {
      return Refusal(kStoreDamaged, cat("`", shown(path), "` has the SHA-256 ", digest,
                                        ", but was stored as ", one_line(*noted)));
    }
    Object object{std::move(reply.body), reply.header("etag").value_or("")};
    tags_[std::string(path)] = {digest, object.etag};
    return std::optional<Object>(std::move(object));
  }

  // Whether the store has just these bytes under `path`; STORE-DIFFERENT-BYTES when others.
  Result<Found> compare(std::string_view path, std::string_view bytes) {
    TRY(answer, send("HEAD", place_.object_url(path), {}, {}));
    const HttpReply& head = answer.reply;
    // A reply to HEAD has no words for what is wrong; the write that follows will have.
    if (!head.ok()) return Found::absent;
    const auto size = parse_uint64(head.header("content-length").value_or(""));
    // Unless the store encrypts with a key of its own, the tag of an object is its MD5.
    if (size == bytes.size() && head.header("etag") == cat("\"", to_hex(md5(bytes)), "\"")) {
      return Found::same;
    }
    if (!size || size == bytes.size()) {
      TRY(object, fetch(path));
      if (!object) return Found::absent;
      if (object->bytes == bytes) return Found::same;
    }
    return Refusal(kStoreDifferentBytes,
                   cat("`", shown(path), "` is stored with ", size.value_or(0),
                       " bytes that differ from the ", bytes.size(), " to publish"));
  }

  [[nodiscard]] Refusal problem(const HttpReply& reply, std::string_view right,
                                const RefusalInfo& otherwise) const {
    Refusal refusal = s3_refusal(reply, place_, right, otherwise);
    hide(refusal.detail, {place_.signer.secret_key, place_.signer.session_token});
    return refusal;
  }

  S3Place place_;
  Outside outside_;
  std::unique_ptr<HttpClient> client_;
  std::map<std::string, Seen, std::less<>> tags_;  // of what was read last
};

}  // namespace

Result<std::unique_ptr<Store>> open_s3_store(std::string_view url, const StoreOptions& options,
                                             std::unique_ptr<HttpClient> client) {
  Outside outside = outside_of(options);
  TRY(place, s3_place(url, outside));
  if (client == nullptr) client = curl_client();
  return std::unique_ptr<Store>(
      std::make_unique<S3Store>(std::move(place), std::move(outside), std::move(client)));
}

}  // namespace assay::publish
