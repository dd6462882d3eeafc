#include "view/footer.h"

#include <cstring>

#include "base/text.h"
#include "publish/refusals.h"

namespace assay::view {

namespace {

// Types of the compact protocol.
enum Type : unsigned {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

// Every read checks the end; after the first fault all reads give zeros and ok() is false.
class Walker {
 public:
  explicit Walker(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }

  struct Field {
    unsigned type = kStop;
    int64_t id = 0;
  };
  // `last` is the id of the field before it in the same struct.
  Field field(int64_t last) {
    const unsigned head = byte();
    Field out{head & 15U, last + (head >> 4U)};
    if (out.type != kStop && (head >> 4U) == 0) out.id = signed_number();
    return out;
  }

  struct List {
    unsigned type = kStop;
    uint64_t count = 0;
  };
  List list() {
    const unsigned head = byte();
    List out{head & 15U, head >> 4U};
    if (out.count == 15) out.count = number();
    // Every element takes a byte: a count beyond what is left is a lie, and would take for ever.
    if (out.count > rest_.size()) fail();
    return ok_ ? out : List();
  }

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned next = byte();
      value |= uint64_t{next & 127U} << shift;
      if (next < 128) return value;
    }
    fail();
    return 0;
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>((value >> 1U) ^ (~(value & 1U) + 1U));
  }
  std::string_view text() {
    const uint64_t length = number();
    if (length > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }

  void skip(unsigned type, int depth) {
    constexpr int kDepthMax = 32;
    if (depth > kDepthMax) fail();
    if (!ok_) return;
    switch (type) {
      case kTrue:
      case kFalse: return;  // the value is in the type
      case kByte: byte(); return;
      case kI16:
      case kI32:
      case kI64: number(); return;
      case kDouble: take(8); return;
      case kBinary: text(); return;
      case kList:
      case kSet: {
        const List items = list();
        const bool flags = items.type == kTrue || items.type == kFalse;
        for (uint64_t i = 0; ok_ && i < items.count; ++i) {
          if (flags) {
            byte();
          } else {
            skip(items.type, depth + 1);
          }
        }
        return;
      }
      case kStruct: {
        Field at;
        while (ok_ && (at = field(at.id)).type != kStop) skip(at.type, depth + 1);
        return;
      }
      default: fail();  // maps do not occur in a footer
    }
  }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  unsigned byte() {
    if (rest_.empty()) {
      fail();
      return 0;
    }
    const auto value = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  void take(size_t count) {
    if (count > rest_.size()) return fail();
    rest_.remove_prefix(count);
  }

  std::string_view rest_;
  bool ok_ = true;
};

void read_pairs(Walker& walker, Footer& footer) {
  const Walker::List items = walker.list();
  for (uint64_t i = 0; walker.ok() && i < items.count; ++i) {
    if (items.type != kStruct) {
      walker.skip(items.type, 1);
      continue;
    }
    auto& [key, value] = footer.pairs.emplace_back();
    Walker::Field at;
    while (walker.ok() && (at = walker.field(at.id)).type != kStop) {
      if (at.type == kBinary && at.id == 1) {
        key = walker.text();
      } else if (at.type == kBinary && at.id == 2) {
        value = walker.text();
      } else {
        walker.skip(at.type, 1);
      }
    }
  }
}

Refusal unreadable(std::string why) {
  return Refusal(publish::kShardUnreadable, std::move(why));
}

}  // namespace

std::string_view Footer::find(std::string_view key) const {
  for (const auto& [name, value] : pairs) {
    if (name == key) return value;
  }
  return {};
}

Result<Footer> read_footer(std::string_view bytes) {
  constexpr std::string_view kMagic = "PAR1";
  constexpr size_t kTail = 8;  // length and magic
  if (bytes.size() < kMagic.size() + kTail || !bytes.starts_with(kMagic) ||
      !bytes.ends_with(kMagic)) {
    return unreadable(
        cat("no whole Parquet file: ", bytes.size(), " bytes that do not begin and end with PAR1"));
  }
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - kTail + i]);
    length |= uint32_t{byte} << (8 * i);
  }
  if (length > bytes.size() - kMagic.size() - kTail)
    return unreadable(cat("a footer of ", length, " bytes in a file of ", bytes.size()));
  Walker walker(bytes.substr(bytes.size() - kTail - length, length));
  Footer footer;
  Walker::Field at;
  while (walker.ok() && (at = walker.field(at.id)).type != kStop) {
    if (at.id == 3 && at.type == kI64) {
      const int64_t rows = walker.signed_number();
      if (rows < 0) return unreadable(cat("a footer with ", rows, " rows"));
      footer.rows = static_cast<uint64_t>(rows);
    } else if (at.id == 5 && at.type == kList) {
      read_pairs(walker, footer);
    } else {
      walker.skip(at.type, 0);
    }
  }
  if (!walker.ok()) return unreadable("the footer breaks off or is not laid out as Parquet's");
  return footer;
}

}  // namespace assay::view
