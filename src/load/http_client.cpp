// Beast parses, and nothing else of it is used: the sockets and the clock are ours. No other file
// includes Boost.
#include "load/http_client.h"

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "load/refusals.h"
#include "load/socket.h"

namespace assay::load {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast::error_code;

constexpr std::uint32_t kHeadSizeMax = 64 << 10;
constexpr int kInterimMax = 16;

bool equal_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string text_of(beast::string_view text) {
  return std::string(text.data(), text.size());
}

// Hands what Beast recognises to the sink, with the stamp of the read it came from.
class Parser : public http::basic_parser<false> {
 public:
  explicit Parser(HttpSink& sink) : sink_(sink) {
    eager(true);
    header_limit(kHeadSizeMax);
    body_limit(boost::none);
  }

  void set_stamp(Stamp at) { at_ = at; }
  [[nodiscard]] bool wanted() const { return wanted_; }
  // "100 Continue" and the like: the answer itself comes after it. 101 is another protocol.
  [[nodiscard]] bool is_interim() const { return code_ / 100 == 1 && code_ != 101; }

 private:
  void on_request_impl(http::verb, beast::string_view, beast::string_view, int,
                       error_code&) override {}
  void on_response_impl(int code, beast::string_view, int, error_code&) override {
    head_.status = code_ = code;
  }
  void on_field_impl(http::field, beast::string_view name, beast::string_view value,
                     error_code&) override {
    head_.headers.emplace_back(text_of(name), text_of(value));
  }
  void on_header_impl(error_code&) override {
    if (!is_interim()) sink_.head(std::move(head_), at_);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view bytes, error_code&) override { return take(bytes); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes, error_code&) override {
    return take(bytes);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t take(beast::string_view bytes) {
    if (wanted_) wanted_ = sink_.body(std::string_view(bytes.data(), bytes.size()), at_);
    return bytes.size();
  }

  HttpSink& sink_;
  HttpHead head_{};
  int code_ = 0;
  Stamp at_{};
  bool wanted_ = true;
};

std::string request_text(const Endpoint& endpoint, const HttpRequest& request) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  std::string text = cat(request.method, " ", request.target, " HTTP/1.1\r\nHost: ", v6 ? "[" : "",
                         endpoint.host, v6 ? "]:" : ":", endpoint.port,
                         "\r\nConnection: close\r\nAccept-Encoding: identity\r\n"
                         "User-Agent: assay-load\r\n");
  for (const auto* headers : {&endpoint.headers, &request.headers}) {
    for (const auto& [name, value] : *headers) text += cat(name, ": ", value, "\r\n");
  }
  if (!request.body.empty()) text += cat("Content-Length: ", request.body.size(), "\r\n");
  return cat(text, "\r\n", request.body);
}

// Reads until the message is whole, or nothing more of it is wanted.
Status receive(Socket& socket, Stamp deadline, const Guard& guard, uint64_t size_max,
               HttpSink& sink) {
  std::optional<Parser> parser(std::in_place, sink);
  int interim = 0;
  std::array<char, 64 << 10> buffer;
  std::string unparsed;  // bytes that the parser wants to see again with more behind them
  error_code error;
  uint64_t size = 0;
  for (;;) {
    TRY(piece, socket.read(buffer, deadline, guard));
    parser->set_stamp(piece.at);
    if (piece.count == 0) {
      if (!parser->got_some()) return Refusal(kClosed, "the peer closed without an answer");
      parser->put_eof(error);
      if (error) return Refusal(kClosed, "the peer closed before the answer was whole");
      return {};
    }
    size += piece.count;
    if (size > size_max) {
      return Refusal(kReplyTooLarge, cat("the answer is larger than ", size_max, " bytes"));
    }
    unparsed.append(buffer.data(), piece.count);
    std::string_view rest = unparsed;
    while (!rest.empty() && !parser->is_done() && parser->wanted()) {
      error = {};
      const size_t used = parser->put(boost::asio::const_buffer(rest.data(), rest.size()), error);
      rest.remove_prefix(used);
      if (error == http::error::need_more) break;
      if (error) return Refusal(kHttpMalformed, error.message());
      if (parser->is_done() && parser->is_interim()) {
        if (++interim > kInterimMax)
          return Refusal(kHttpMalformed, cat("more than ", kInterimMax, " answers of status 1xx"));
        parser.emplace(sink);
        parser->set_stamp(piece.at);
      }
      if (used == 0) break;
    }
    unparsed.erase(0, unparsed.size() - rest.size());
    if (parser->is_done() || !parser->wanted()) return {};
  }
}

}  // namespace

std::optional<std::string> HttpHead::find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equal_without_case(key, name)) return value;
  }
  return std::nullopt;
}

HttpOutcome exchange(const Endpoint& endpoint, const HttpRequest& request, const Limits& limits,
                     const Guard& guard, HttpSink& sink) {
  HttpOutcome outcome;
  outcome.started = now();
  const auto end = [&outcome](Status status) {
    outcome.ended = now();
    if (!status) outcome.problem = std::move(status).refusal();
    return outcome;
  };
  const Stamp deadline = outcome.started + limits.request;
  auto socket =
      Socket::connect(endpoint, std::min(deadline, outcome.started + limits.connect), guard);
  if (!socket) return end(std::move(socket).refusal());
  outcome.connected = now();
  const std::string text = request_text(endpoint, request);
  outcome.sent = now();
  const Status written = socket->write(text, deadline, guard);
  // A server that refuses a request answers before it has read all of it and closes: its answer
  // says more than the broken connection.
  if (!written && written.refusal().code != kClosed.code) return end(written);
  Status received = receive(*socket, deadline, guard, limits.answer_bytes, sink);
  return end(!received && !written ? written : std::move(received));
}

}  // namespace assay::load
