// What must not stand in anything that is kept or published: values under keys that name a secret,
// and secrets inside texts. Each becomes `***`.
//
// Known by their shape only. What is masked wrongly is a word less in a record; what is let pass is
// somebody's key in public, for good. Where the two conflict, the text is masked.
// Threads   pure functions.
// Cost      one look at each byte; a text without a secret is not copied.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace assay {

/// Whether `key` names a secret by its last words, in any spelling ("api_key", "apiKey",
/// "X-Api-Key", "APIKEY"): passwords, tokens of access, keys, credentials, cookies, sessions' ids.
/// Counts and measures are none ("max_tokens", "cost_per_token", "time_to_first_token",
/// "sessions"), nor are the marks of a vocabulary ("eos_token").
[[nodiscard]] bool is_secret_key(std::string_view key);

/// The text with `***` for every secret in it; nothing where there is none:
///   - user and password in a URL, values of `key=value`, `key: value`, `--key value`,
///     `--key=value` whose key is a secret one (URL queries, command lines, headers, JSON in text);
///   - what follows `Bearer` or `Basic`;
///   - tokens with a known beginning (hf_, sk-, ghp_, github_pat_, xoxb-, AKIA, eyJ…) that are long
///     and irregular enough; private keys in PEM.
[[nodiscard]] std::optional<std::string> mask_text(std::string_view text);

/// Both, at every depth of a document: values of secret keys whatever their type (null stays), and
/// texts. In an array of arguments the one behind a secret flag ("--api-key", "abc") too.
void mask_secrets(json::Value& value);

}  // namespace assay
