// What a file that is no GGUF looks like: people rename web pages, pointers and half downloads.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace assay::engine::gguf {

/// One phrase for a message: "an HTML page (an error page of a web server?)", "a git-lfs pointer
/// (the model itself, 98362432 bytes, was not downloaded)", "bytes 41 42 43 44".
[[nodiscard]] std::string looks_like(std::span<const std::byte> bytes);

}  // namespace assay::engine::gguf
