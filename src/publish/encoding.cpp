#include "publish/encoding.h"

#include <openssl/evp.h>

#include "base/ensure.h"
#include "base/text.h"

namespace assay::publish {

namespace {

std::string digest(const EVP_MD* kind, std::initializer_list<std::string_view> parts) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ENSURE(context != nullptr && EVP_DigestInit_ex(context, kind, nullptr) == 1);
  for (const std::string_view part : parts)
    ENSURE(EVP_DigestUpdate(context, part.data(), part.size()) == 1);
  unsigned char buffer[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ENSURE(EVP_DigestFinal_ex(context, buffer, &size) == 1);
  EVP_MD_CTX_free(context);
  return std::string(reinterpret_cast<const char*>(buffer), size);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) out += j <= count ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string md5(std::string_view bytes) {
  return digest(EVP_md5(), {bytes});
}

std::string git_blob_sha1(std::string_view bytes) {
  const std::string head = cat("blob ", bytes.size());
  return to_hex(digest(EVP_sha1(), {head, std::string_view("\0", 1), bytes}));
}

std::string percent_encode(std::string_view text, bool keep_slash) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/');
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace assay::publish
