#include "publish/privacy.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "base/secrets.h"

namespace assay::publish {

namespace {

bool is_separator(char c) {
  return c == '/' || c == '\\';
}

// Two looks by memchr: most texts have neither.
bool has_separator(const std::string& text) {
  return text.find('/') != std::string::npos || text.find('\\') != std::string::npos;
}

bool starts_with_in_any_case(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [](char a, char b) { return a == to_lower(b); });
}

// Where a home folder's name begins, when one of the folders that hold them stands behind the
// separator at `at`: "/home/", "/Users/", "\Users\" in any case, also with what is doubled in JSON.
size_t name_in_home(std::string_view text, size_t at) {
  const char separator = text[at];
  size_t begin = at + 1;
  while (separator == '\\' && begin < text.size() && text[begin] == separator) ++begin;
  const std::string_view rest = text.substr(begin);
  // Capitals count where the file system tells them apart: an address may have "/users/".
  const size_t size = separator == '\\'           ? (starts_with_in_any_case(rest, "users") ? 5 : 0)
                      : rest.starts_with("Users") ? 5
                      : rest.starts_with("home")  ? 4
                                                  : 0;
  begin += size;
  if (size == 0 || begin == text.size() || !is_separator(text[begin])) return 0;
  while (begin < text.size() && is_separator(text[begin])) ++begin;
  return begin;
}

size_t name_end(std::string_view text, size_t begin) {
  constexpr std::string_view kEnds = "/\\ \"',;:)]}<>|\t\r\n";
  const size_t end = std::min(text.size(), text.find_first_of(kEnds, begin));
  if (end == text.size() || text[end] != ' ' || begin < 2 || text[begin - 1] != '\\') return end;
  // "\Users\Ann Smith\x": a name of two words, where a folder goes on behind them.
  const size_t next = text.find_first_of("/\\\"',;:)]}<>|\t\r\n", end);
  return next != std::string_view::npos && text[next] == '\\' ? next : end;
}

bool cut_home_folders(std::string& text) {
  if (!has_separator(text)) return false;
  bool cut = false;
  for (size_t at = text.find_first_of("/\\"); at != std::string::npos;
       at = text.find_first_of("/\\", at + 1)) {
    const size_t begin = name_in_home(text, at);
    if (begin == 0) continue;
    text.replace(at, name_end(text, begin) - at, "~");
    cut = true;
  }
  return cut;
}

void cut_in(json::Value& value) {
  if (value.is_string()) {
    if (!has_separator(value.string())) return;
    std::string text = value.string();
    if (cut_home_folders(text)) value = json::Value(std::move(text));
  } else if (value.is_array()) {
    for (json::Value& item : value.items()) cut_in(item);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.members()) cut_in(member);
  }
}

// Rows of one envelope mostly have the same tags in the same places, many of them with the same
// text, so what they are was mostly found out in the row before.
class RowCleaner {
 public:
  void clean(ResultRow& row) {
    make_private(row.name);
    make_private(row.metric);
    make_private(row.unit);
    if (known_.size() < row.tags.size()) known_.resize(row.tags.size());
    bool changed = false;
    for (size_t i = 0; i < row.tags.size(); ++i) changed = look(known_[i], row.tags[i]) || changed;
    if (changed) row.tags = cleaned(row.tags);
  }

 private:
  // What became of the tag in one place of the row before.
  struct Known {
    std::string key{}, text{};
    bool secret = false;
    std::optional<std::string> masked_key{}, clean_text{};  // where they are others
  };

  // Whether the tag is to be changed.
  static bool look(Known& known, Tags::Tag tag) {
    const auto [key, text] = tag;
    if (known.key != key) {
      known = {.key = std::string(key), .secret = is_secret_key(key), .masked_key = mask_text(key)};
    }
    if (!known.secret && known.text != text) {
      known.text = text;
      std::string clean(text);
      make_private(clean);
      known.clean_text = clean == text ? std::nullopt : std::optional(std::move(clean));
    }
    return known.secret || known.masked_key || known.clean_text;
  }

  [[nodiscard]] Tags cleaned(const Tags& tags) const {
    Tags out;
    for (size_t i = 0; i < tags.size(); ++i) {
      const Known& known = known_[i];
      const std::string_view key = known.masked_key ? *known.masked_key : tags[i].first;
      if (out.find(key)) continue;  // two keys may be masked to one
      out.put(key, known.secret ? "***" : known.clean_text ? *known.clean_text : tags[i].second);
    }
    return out;
  }

  std::vector<Known> known_;
};

}  // namespace

void remove_host_names(Envelope& envelope) {
  json::Value* const system = envelope.head.find("system");
  if (system == nullptr || !system->is_object()) return;
  const auto remove = [](json::Value& object) {
    if (!object.is_object()) return;
    std::erase_if(object.members(), [](const json::Member& m) { return m.first == "hostname"; });
  };
  remove(*system);
  json::Value* const topology = system->find("topology");
  json::Value* const nodes =
      topology != nullptr && topology->is_object() ? topology->find("nodes") : nullptr;
  if (nodes == nullptr || !nodes->is_array()) return;
  for (json::Value& node : nodes->items()) remove(node);
}

void make_private(std::string& text) {
  if (auto masked = mask_text(text)) text = std::move(*masked);
  cut_home_folders(text);
}

void make_private(Envelope& envelope, const PrivacyOptions& options) {
  if (!options.keep_host_names) remove_host_names(envelope);
  mask_secrets(envelope.head);
  cut_in(envelope.head);
  RowCleaner rows;
  for (ResultRow& row : envelope.results) rows.clean(row);
}

}  // namespace assay::publish
