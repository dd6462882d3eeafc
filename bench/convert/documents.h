// Result files as the tools write them, as large as asked for, grown where each tool's file grows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::bench {

/// A document of this kind with at least `bytes_min` bytes. An unknown kind gives "".
[[nodiscard]] std::string large_document(std::string_view kind, size_t bytes_min);

/// What grows in it, for the reader of a figure.
[[nodiscard]] std::string_view grows_by(std::string_view kind);

}  // namespace assay::bench
