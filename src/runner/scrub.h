// Text that an engine wrote, made fit for a record: one printable line, no secrets, no places.
//
// Everything that an engine says on stderr or in an error is hostile until it went through here; it
// ends up in refusals, and those are sealed and published.
// Threads   pure functions.
#pragma once

#include <string>
#include <string_view>

namespace assay::runner {

/// Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

/// A line that holds "expected" or "actual" (any case) becomes "token-validation-failed": such
/// lines tend to quote golden tokens.
[[nodiscard]] std::string redact(std::string_view line);

/// Controls become \xNN (tab stays); URLs, addresses, paths, host names and the values of
/// credential-looking keys become <url>, <user@host>, <path>/name, <host>, <redacted>. Idempotent.
[[nodiscard]] std::string scrub(std::string_view line);

/// At most `size_max` bytes: a longer text loses its middle to "…[clipped]…", cut between
/// characters. Needs size_max >= 32.
[[nodiscard]] std::string clip(std::string_view text, size_t size_max);

/// The longest reason a sealed file may hold, in bytes.
inline constexpr size_t kSealedReasonSizeMax = 2048;

}  // namespace assay::runner
