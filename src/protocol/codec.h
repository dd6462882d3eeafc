// Messages to lines and back. One table (fields.h) drives reader, writer and JSON Schema.
//
// Reading   strict: closed objects (unknown key refused; the three replay objects are open), no key
//           twice, no null, integers without fraction, exponent or "-0" and inside the range of
//           their member, floats finite, valid UTF-8 with legal surrogate pairs, at most 16 levels,
//           nothing but white space after the object. Key order is free.
// Writing   canonical: no spaces, keys in table order, unset optionals left out, doubles as
//           format_double. Reading a canonical line and writing it gives the same bytes.
// Errors    JSON; the detail names the key's path or the byte, never a value of the line.
// Cost      one pass, no tree; about 10 us for 512 tokens, well below 1 us for a decode step.
// Threads   all functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/message.h"

namespace assay::protocol {

/// Fills `out` with the request of `line` (without its LF; a CR at the end is white space). On a
/// refusal `out` holds no particular value.
///
/// unknown_spec_key  an engine passes a string here: an unknown key inside `spec` is then noted in
///                   it (the last one; empty = none) instead of refused, so that a mode from the
///                   future is refused with the request's own id and a sentence.
[[nodiscard]] Status read_request(std::string_view line, Request& out,
                                  std::string* unknown_spec_key = nullptr);
[[nodiscard]] Status read_response(std::string_view line, Response& out);

[[nodiscard]] Result<Request> read_request(std::string_view line);
[[nodiscard]] Result<Response> read_response(std::string_view line);

/// Appends the canonical line, without LF. Needs finite doubles (ENSURE).
void write_request(const Request& request, std::string& out);
void write_response(const Response& response, std::string& out);

[[nodiscard]] std::string write_request(const Request& request);
[[nodiscard]] std::string write_response(const Response& response);

}  // namespace assay::protocol
