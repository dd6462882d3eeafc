#include "engine/gguf/look.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace assay::engine::gguf {
namespace {

struct Signature {
  std::string_view start;
  std::string_view phrase;
};
// First match wins; compared after leading white space, without case.
constexpr Signature kSignatures[] = {
    {"<!doctype html", "an HTML page (a web server's error or log-in page?)"},
    {"<html", "an HTML page (a web server's error or log-in page?)"},
    {"<?xml", "an XML document (an object store's error?)"},
    {"{\"error", "a JSON error message"},
    {"invalid username or password", "a hub's log-in error"},
    {"access to model", "a hub's gated-model message"},
    {"entry not found", "a hub's not-found message"},
    {"repository not found", "a hub's not-found message"},
    {"ggjt", "a model in llama.cpp's old GGJT format"},
    {"tjgg", "a model in llama.cpp's old GGJT format"},
    {"lmgg", "a model in llama.cpp's old GGML format"},
    {"fmgg", "a model in llama.cpp's old GGMF format"},
    {"algg", "a GGLA adapter"},
    {"pk\x03\x04", "a ZIP archive or a PyTorch checkpoint"},
    {"\x1f\x8b", "gzip-compressed data"},
    {"\x28\xb5\x2f\xfd", "Zstandard-compressed data"},
    {"fugg", "a big-endian GGUF magic"},
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string pointer_phrase(std::string_view text) {
  std::string phrase = "a git-lfs pointer (the model itself";
  if (const size_t at = text.find("\nsize "); at != std::string_view::npos) {
    std::string_view digits = text.substr(at + 6);
    digits = digits.substr(0, digits.find('\n'));
    if (const auto size = parse_uint64(digits)) phrase += cat(", ", *size, " bytes,");
  }
  return phrase + " was not downloaded)";
}

}  // namespace

std::string looks_like(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "an empty file";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 1024));
  if (text.starts_with("version https://git-lfs")) return pointer_phrase(text);
  std::string start;
  for (const char c : text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()))) {
    if (start.size() == 64) break;
    start += lower(c);
  }
  for (const Signature& signature : kSignatures) {
    if (start.starts_with(signature.start)) return std::string(signature.phrase);
  }
  if (std::all_of(text.begin(), text.end(), [](char c) { return c == 0; })) {
    return "zero bytes (space that a download reserved and never filled?)";
  }
  // safetensors: a u64 header length, then a JSON object.
  if (text.size() > 8 && text[8] == '{' && text[7] == 0) return "a safetensors file";
  // A resumed download may append the start of the file to its middle.
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()),
                             std::min<size_t>(bytes.size(), size_t{1} << 20));
  if (const size_t at = all.find(std::string_view("GGUF\x03\0\0\0", 8));
      at != std::string_view::npos) {
    return cat("a download put together wrongly (a GGUF header stands at byte ", at, ")");
  }
  return cat("bytes ", to_hex(text.substr(0, 8)));
}

}  // namespace assay::engine::gguf
