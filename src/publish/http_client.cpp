// One HTTP request over libcurl.
#include "publish/http_client.h"

#include <curl/curl.h>
#include <signal.h>

#include <ctime>

#include "base/build_info.h"
#include "base/ensure.h"
#include "base/text.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr size_t kHeaderBytesMax = 256 << 10;

// What the callbacks fill. `problem` is set when they end the transfer.
struct Incoming {
  HttpReply reply;
  uint64_t body_max = 0;
  size_t header_bytes = 0;
  std::string problem;
};

size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto& in = *static_cast<Incoming*>(user);
  const std::string_view line(data, size * count);
  in.header_bytes += line.size();
  if (in.header_bytes > kHeaderBytesMax) {
    in.problem = cat("its headers are over ", kHeaderBytesMax, " bytes");
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    in.reply.headers.clear();  // the head before was an interim reply (100 Continue)
    return line.size();
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  std::string name(line.substr(0, colon));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  in.reply.headers.emplace_back(std::move(name), std::string(trim(line.substr(colon + 1))));
  return line.size();
}

size_t take_body(char* data, size_t size, size_t count, void* user) {
  auto& in = *static_cast<Incoming*>(user);
  if (in.reply.body.size() + size * count > in.body_max) {
    in.problem = cat("its reply is over ", in.body_max, " bytes");
    return 0;
  }
  in.reply.body.append(data, size * count);
  return size * count;
}

class HeaderList {
 public:
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { curl_slist_free_all(list_); }
  void add(const std::string& line) {
    curl_slist* longer = curl_slist_append(list_, line.c_str());
    ENSURE(longer != nullptr);
    list_ = longer;
  }
  [[nodiscard]] curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// A connection that a server closes while we write to it must not end the program. libcurl's own
// guard changes the whole process; this one changes the calling thread for the call.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;
  ~NoBrokenPipe() {
    const timespec now{0, 0};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(const HttpDeadlines& deadlines) : deadlines_(deadlines) {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    ENSURE(ready == CURLE_OK);
    handle_ = curl_easy_init();
    ENSURE(handle_ != nullptr);
  }
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;
  ~CurlClient() override { curl_easy_cleanup(handle_); }

  Result<HttpReply> send(const HttpRequest& request) override {
    if (!request.bearer.empty()) TRY_DO(check_secret_may_go(request.url));
    const std::string place = cat(request.method, " ", shown_url(request.url));
    if (has_control_character(request.bearer))
      return Refusal(kStoreReply, cat(place, ": the token has a control character"));
    for (const auto& [name, value] : request.headers) {
      if (has_control_character(name) || has_control_character(value))
        return Refusal(kStoreReply, cat(place, ": a header to send has a control character"));
    }
    curl_easy_reset(handle_);  // keeps the connection, forgets every option
    Incoming in;
    in.body_max = request.reply_bytes_max;
    char detail[CURL_ERROR_SIZE] = "";
    HeaderList headers;
    set_transfer(request, in, detail);
    set_headers(request, headers);
    CURLcode code = CURLE_OK;
    {
      const NoBrokenPipe guard;
      code = curl_easy_perform(handle_);
    }
    if (!in.problem.empty()) return Refusal(kStoreReply, cat(place, ": ", in.problem));
    if (code != CURLE_OK) {
      // curl's own sentence names hosts and numbers, never headers; a query could stand in it.
      std::string reason = detail[0] != '\0' ? detail : curl_easy_strerror(code);
      if (reason.find('?') != std::string::npos) reason = curl_easy_strerror(code);
      const auto& kind = code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT
                             ? kStoreUrl
                             : kStoreUnreachable;
      return Refusal(kind, cat(place, ": ", reason));
    }
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    in.reply.status = static_cast<int>(status);
    return std::move(in.reply);
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    ENSURE(curl_easy_setopt(handle_, option, value) == CURLE_OK);
  }

  void set_transfer(const HttpRequest& request, Incoming& in, char* detail) {
    set(CURLOPT_ERRORBUFFER, detail);
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PATH_AS_IS, 1L);  // what was signed is what is sent
    set(CURLOPT_FOLLOWLOCATION, 0L);
    if (is_loopback_url(request.url)) set(CURLOPT_PROXY, "");  // else as the environment says
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(deadlines_.connect.count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(deadlines_.whole.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(deadlines_.silence.count()));
    set(CURLOPT_USERAGENT, user_agent_.c_str());
    set(CURLOPT_HEADERFUNCTION, &take_header);
    set(CURLOPT_HEADERDATA, &in);
    set(CURLOPT_WRITEFUNCTION, &take_body);
    set(CURLOPT_WRITEDATA, &in);
    if (request.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (request.method != "GET") {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
  }

  void set_headers(const HttpRequest& request, HeaderList& headers) {
    bool typed = false;
    for (const auto& [name, value] : request.headers) {
      headers.add(cat(name, ": ", value));
      typed = typed || name == "content-type";
    }
    if (!request.bearer.empty()) headers.add(cat("authorization: Bearer ", request.bearer));
    if (!typed) headers.add("Content-Type:");  // libcurl would call every body a form
    headers.add("Expect:");                    // no pause before a large body
    if (const AwsSigner* signer = request.signer) {
      if (!signer->session_token.empty())
        headers.add(cat("x-amz-security-token: ", signer->session_token));
      set(CURLOPT_AWS_SIGV4, cat("aws:amz:", signer->region, ":s3").c_str());
      set(CURLOPT_USERNAME, signer->access_key.c_str());
      set(CURLOPT_PASSWORD, signer->secret_key.c_str());
    }
    set(CURLOPT_HTTPHEADER, headers.get());
  }

  HttpDeadlines deadlines_;
  CURL* handle_ = nullptr;
  std::string user_agent_ = cat("assay/", build_version());
};

}  // namespace

std::unique_ptr<HttpClient> curl_client(const HttpDeadlines& deadlines) {
  return std::make_unique<CurlClient>(deadlines);
}

}  // namespace assay::publish
