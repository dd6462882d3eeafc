// name_text: a name out of a file, made safe to print.
#pragma once

#include <string>
#include <string_view>

namespace assay::engine::gguf {

/// The name between backquotes; control bytes and bytes beyond ASCII as \xNN, cut after 80 bytes.
/// Names come from files that anybody may have made: a message must not move the reader's cursor.
[[nodiscard]] std::string name_text(std::string_view name);

}  // namespace assay::engine::gguf
