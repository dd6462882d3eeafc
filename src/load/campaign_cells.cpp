#include "load/campaign_cells.h"

#include "base/sha256.h"

namespace assay::load {

namespace {

void append_unit(std::string& out, uint32_t unit) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 0xf];
}

// Code point of the UTF-8 sequence at `at`, which is moved behind it. The text is valid UTF-8.
uint32_t next_code_point(std::string_view text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  uint32_t code = lead & (0x3fU >> more);
  for (int i = 0; i < more && at < text.size(); ++i) {
    code = (code << 6) | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  }
  return code;
}

}  // namespace

std::vector<Cell> plan_cells(const Manifest& manifest) {
  std::vector<Cell> cells;
  for (const Profile& profile : manifest.profiles) {
    if (!profile.enabled) continue;
    for (const int64_t window : manifest.configured_windows) {
      if (window > profile.window_limit_tokens) continue;
      for (const int64_t target : manifest.targets) {
        cells.push_back({.campaign_id = manifest.campaign_id,
                         .profile_id = profile.id,
                         .model = profile.model,
                         .configured_window = window,
                         .target_tokens = target,
                         .output_tokens = manifest.output_tokens,
                         .prompt_tolerance_tokens = manifest.prompt_tolerance_tokens,
                         .repeats = manifest.repeats,
                         .concurrency = manifest.concurrency,
                         .base_url = manifest.base_url,
                         .environment_class = manifest.environment_class});
      }
    }
  }
  return cells;
}

json::Value cell_json(const Cell& cell) {
  return json::Value::object({{"base_url", cell.base_url},
                              {"campaign_id", cell.campaign_id},
                              {"concurrency", cell.concurrency},
                              {"configured_window", cell.configured_window},
                              {"environment_class", cell.environment_class},
                              {"model", cell.model},
                              {"output_tokens", cell.output_tokens},
                              {"profile_id", cell.profile_id},
                              {"prompt_tolerance_tokens", cell.prompt_tolerance_tokens},
                              {"repeats", cell.repeats},
                              {"target_tokens", cell.target_tokens}});
}

std::string ascii_json(const json::Value& value) {
  // Outside strings JSON is ASCII, and inside them the writer has escaped the rest: only bytes
  // above 0x7e are left.
  const std::string text = json::write(value, {.sort_keys = true});
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x7f) {
      out += text[at++];
    } else if (byte == 0x7f) {
      append_unit(out, 0x7f);
      ++at;
    } else {
      const uint32_t code = next_code_point(text, at);
      if (code < 0x10000) {
        append_unit(out, code);
      } else {
        append_unit(out, 0xd800 + ((code - 0x10000) >> 10));
        append_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
      }
    }
  }
  return out;
}

std::string cell_id(const Cell& cell) {
  return sha256_hex(ascii_json(cell_json(cell))).substr(0, 16);
}

}  // namespace assay::load
