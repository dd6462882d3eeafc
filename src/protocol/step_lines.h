// The two lines of a decode step, without the codec's table.
//
// A decode step is the judge's most frequent and shortest exchange; the general codec costs it more
// than a microsecond inside the timed window. These write and recognise the canonical lines
// only, byte for byte as the codec does (a test holds them to it); any other line goes to the
// codec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::protocol {

struct DecodeStep {
  int64_t id = 0;
  int64_t token = 0;
};

/// Appends `{"id":<id>,"kind":"decode_step","token":<token>}`.
void append_decode_step(std::string& out, DecodeStep step);
/// What append_decode_step wrote; nothing for every other line.
[[nodiscard]] std::optional<DecodeStep> match_decode_step(std::string_view line);

/// What stands between id and token in a good answer of a session:
/// `,"nonce":"…","ok":true,"token":`. Empty when the nonce would need an escape: then these two are
/// of no use.
[[nodiscard]] std::string token_answer_middle(std::string_view nonce);

/// Appends `{"id":<id><middle><token>}`. Needs a middle that is not empty.
void append_token_answer(std::string& out, int64_t id, std::string_view middle, int64_t token);
/// The token of a canonical, good answer to request `id` that carries nothing else; nothing for
/// every other line, and for an empty middle.
[[nodiscard]] std::optional<int64_t> match_token_answer(std::string_view line, int64_t id,
                                                        std::string_view middle);

}  // namespace assay::protocol
