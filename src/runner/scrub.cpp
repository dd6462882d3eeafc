#include "runner/scrub.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ensure.h"
#include "base/text.h"

namespace assay::runner {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kClipped = "\xE2\x80\xA6[clipped]\xE2\x80\xA6";
constexpr std::string_view kRedacted = "<redacted>";
constexpr std::string_view kPath = "<path>";

constexpr std::array<std::string_view, 23> kSecretWords = {
    "SECRET",  "PASSWORD", "PASSWD",  "TOKEN",   "CREDENTIAL", "AUTH", "BEARER", "SIGNATURE",
    "SESSION", "COOKIE",   "PRIVATE", "URL",     "ENDPOINT",   "URI",  "HOST",   "KEY",
    "HOME",    "USER",     "LOGNAME", "ACCOUNT", "EMAIL",      "PATH", "DIR"};
constexpr std::array<std::string_view, 6> kPlaceholders = {"<url>",  "<redacted>", "<user@host>",
                                                           "<path>", "<host>",     "<basename>"};
/// Final labels that make a dotted name a file, not a host.
constexpr std::array<std::string_view, 55> kFileExtensions = {
    "gguf", "safetensors", "json", "jsonl", "txt", "log",  "so",    "cpp",   "cc",   "c",
    "h",    "hpp",         "cu",   "cuh",   "py",  "pyc",  "rs",    "swift", "m",    "mm",
    "go",   "js",          "ts",   "metal", "sh",  "md",   "bin",   "toml",  "yaml", "yml",
    "ini",  "cfg",         "conf", "a",     "o",   "d",    "dylib", "dll",   "exe",  "lib",
    "tmp",  "sock",        "pid",  "csv",   "tsv", "lock", "npy",   "pt",    "pth",  "onnx",
    "dat",  "metallib",    "zip",  "tar",   "gz"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Length of the well-formed UTF-8 sequence at the front, or 0.
size_t sequence_length(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 0 || lead > 0xF4 || length > bytes.size()) return 0;
  return is_utf8(bytes.substr(0, length)) ? length : 0;
}

/// `at` moved back to the beginning of the character it lies in.
size_t character_start(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

std::string escape_controls(std::string_view line) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7F) {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

bool is_separator(char c) {
  return c == ' ' || c == '\t' || std::string_view("()[]{},;`").find(c) != std::string_view::npos;
}

/// Length of our own placeholder at `at`, with the name behind "<path>/"; 0 when there is none.
/// Placeholders are atoms: scrubbing them again must not find the engine's words in them.
size_t placeholder_length(std::string_view line, size_t at) {
  for (const auto placeholder : kPlaceholders) {
    if (line.substr(at, placeholder.size()) != placeholder) continue;
    size_t end = at + placeholder.size();
    if (placeholder != kPath || line.substr(end, 1) != "/") return end - at;
    ++end;
    while (end < line.size() && line[end] != '/' && line[end] != '<' && !is_separator(line[end])) {
      ++end;
    }
    return end - at;
  }
  return 0;
}

bool looks_secret(std::string_view key) {
  key.remove_prefix(key.rfind('/') + 1);  // npos + 1 is 0: a key's last component counts
  std::string upper(key);
  std::transform(upper.begin(), upper.end(), upper.begin(), to_upper);
  if (upper == "LOCALHOST") return false;
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

size_t component_count(std::string_view path) {
  size_t count = 0;
  for (const auto part : split(path, '/')) count += part.empty() ? 0 : 1;
  return count;
}

bool is_path(std::string_view text) {
  const auto starts = [&](std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
  };
  if (text.find('/') == std::string_view::npos) return text == "~";
  return starts("/") || starts("~") || starts("./") || starts("../") || component_count(text) >= 3;
}

std::string hide_path(std::string_view path) {
  if (component_count(path) <= 2) return std::string(kPath);
  while (path.back() == '/') path.remove_suffix(1);
  return cat(kPath, "/", path.substr(path.rfind('/') + 1));
}

/// A dotted name whose last label is 2 to 24 letters and no file extension.
bool is_host(std::string_view name) {
  const auto labels = split(name, '.');
  if (labels.size() < 2) return false;
  for (const auto label : labels) {
    const bool plain = !label.empty() && std::all_of(label.begin(), label.end(), [](char c) {
      return is_letter(c) || is_digit(c) || c == '-' || c == '_';
    });
    if (!plain) return false;
  }
  std::string last(labels.back());
  std::transform(last.begin(), last.end(), last.begin(), to_lower);
  if (last.size() < 2 || last.size() > 24 || !std::all_of(last.begin(), last.end(), is_letter)) {
    return false;
  }
  return std::find(kFileExtensions.begin(), kFileExtensions.end(), last) == kFileExtensions.end();
}

/// One piece between separators, without the quotes and full stops around it.
std::string hide_place(std::string_view piece) {
  if (piece.find("://") != std::string_view::npos) return "<url>";
  const size_t sign = piece.find('@');
  if (sign != std::string_view::npos && sign > 0 && sign + 1 < piece.size()) return "<user@host>";
  if (is_path(piece)) return hide_path(piece);
  const size_t colon = piece.find(':');
  const bool has_port =
      colon != std::string_view::npos && colon + 1 < piece.size() &&
      std::all_of(piece.begin() + static_cast<std::ptrdiff_t>(colon) + 1, piece.end(), is_digit);
  const std::string_view name = has_port ? piece.substr(0, colon) : piece;
  if (is_host(name)) return cat("<host>", piece.substr(name.size()));
  return std::string(piece);
}

std::string hide_piece(std::string_view piece) {
  constexpr std::string_view around = "\"'.,:!?*";
  const size_t first = piece.find_first_not_of("\"'*");  // a leading dot belongs to a path
  if (first == std::string_view::npos) return std::string(piece);
  const size_t last = piece.find_last_not_of(around);
  if (last == std::string_view::npos || last < first) return std::string(piece);
  return cat(piece.substr(0, first), hide_place(piece.substr(first, last + 1 - first)),
             piece.substr(last + 1));
}

/// Where the `=` or `:` behind a credential-looking key in line[begin, end) is: in the piece
/// ("key=value"), or after white space behind it ("key = value"). npos without such a key.
size_t secret_sign(const std::string& line, size_t begin, size_t end) {
  const std::string_view piece = std::string_view(line).substr(begin, end - begin);
  const bool is_url = piece.find("://") != std::string_view::npos;
  size_t sign = piece.find_first_of("=:");
  if (sign == std::string_view::npos) {
    const size_t next = line.find_first_not_of(" \t", end);
    const bool follows = next != std::string::npos && (line[next] == '=' || line[next] == ':');
    return follows && looks_secret(piece) ? next : std::string::npos;
  }
  for (size_t key = 0; sign != std::string_view::npos; sign = piece.find_first_of("=:", key)) {
    if (looks_secret(piece.substr(key, sign - key))) return begin + sign;
    if (is_url) break;
    key = sign + 1;
  }
  return std::string::npos;
}

}  // namespace

std::string to_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string out;
  while (!bytes.empty()) {
    const size_t length = sequence_length(bytes);
    if (length == 0) {
      out += kReplacement;
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

std::string redact(std::string_view line) {
  std::string lower(line);
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  const bool tells =
      lower.find("expected") != std::string::npos || lower.find("actual") != std::string::npos;
  return tells ? "token-validation-failed" : std::string(line);
}

std::string scrub(std::string_view raw) {
  const std::string line = escape_controls(to_utf8(raw));
  std::string out;
  size_t at = 0;
  while (at < line.size()) {
    if (is_separator(line[at])) {
      out += line[at++];
      continue;
    }
    if (const size_t length = placeholder_length(line, at); length > 0) {
      out.append(line, at, length);
      at += length;
      continue;
    }
    size_t end = at;
    while (end < line.size() && !is_separator(line[end]) && placeholder_length(line, end) == 0) {
      ++end;
    }
    const std::string_view piece = std::string_view(line).substr(at, end - at);

    const size_t sign = secret_sign(line, at, end);
    if (sign != std::string::npos) {
      const size_t key_end = std::min(sign, end);
      out += hide_piece(piece.substr(0, key_end - at));
      out.append(line, key_end, sign + 1 - key_end);
      out += kRedacted;
      return out;
    }
    out += hide_piece(piece);
    at = end;
  }
  return out;
}

std::string clip(std::string_view text, size_t size_max) {
  ENSURE(size_max >= 32);
  if (text.size() <= size_max) return std::string(text);
  const size_t kept = size_max - kClipped.size();
  const size_t head = character_start(text, kept / 2);
  size_t tail = text.size() - (kept - kept / 2);
  while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xC0) == 0x80) ++tail;
  return cat(text.substr(0, head), kClipped, text.substr(tail));
}

}  // namespace assay::runner
