// The encodings and digests that storage protocols ask for beside SHA-256.
#pragma once

#include <string>
#include <string_view>

namespace assay::publish {

/// Standard alphabet, padded, no line breaks.
[[nodiscard]] std::string base64(std::string_view bytes);

/// MD5 as 16 raw bytes (Content-MD5, ETag). Guards against damage, not against people.
[[nodiscard]] std::string md5(std::string_view bytes);

/// The name git gives this content: SHA-1 of "blob <size>\0" and the bytes, 40 hex digits.
[[nodiscard]] std::string git_blob_sha1(std::string_view bytes);

/// Percent-encodes everything but A-Z a-z 0-9 - . _ ~ and, with `keep_slash`, '/'.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slash);
/// The reverse; a % that no two hex digits follow stays as it is.
[[nodiscard]] std::string percent_decode(std::string_view text);

}  // namespace assay::publish
