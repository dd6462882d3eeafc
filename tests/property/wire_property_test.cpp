// For any message that the field table allows: writing and reading give it back, the canonical form
// is a fixed point, and the order of keys does not matter.
//
// Messages are filled through the table itself, so a new field is covered on the day it is added.
// RapidCheck prints the seed of a failure; RC_PARAMS="reproduce=…" repeats it.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>

#include "base/json.h"
#include "protocol/codec.h"
#include "protocol/fields.h"

namespace assay::protocol {
namespace {

template <class T>
T integer() {
  // Small values and the ends of the range as often as anything else.
  return *rc::gen::oneOf(
      rc::gen::arbitrary<T>(), rc::gen::inRange<T>(0, 100),
      rc::gen::element(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

double finite_double() {
  const auto bits = *rc::gen::arbitrary<uint64_t>();
  const double value = std::bit_cast<double>(bits);
  return std::isfinite(value) ? value : static_cast<double>(bits >> 20) / 1024.0;
}

std::string unicode_text() {
  std::string text;
  const int length = *rc::gen::inRange(0, 12);
  for (int i = 0; i < length; ++i) {
    const uint32_t c = *rc::gen::oneOf(
        rc::gen::inRange<uint32_t>(0, 0x80), rc::gen::inRange<uint32_t>(0x80, 0xD800),
        rc::gen::inRange<uint32_t>(0xE000, 0x110000),
        rc::gen::element<uint32_t>('"', '\\', '/', '\n', 0x7F, 0xD7FF, 0xFFFF, 0x10FFFF));
    const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
      put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F));
      put(0x80 | (c & 0x3F));
    }
  }
  return text;
}

json::Value any_json(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 6 : 4)) {
    case 0: return json::Value(integer<int64_t>());
    case 1: return json::Value(finite_double());
    case 2: return json::Value(unicode_text());
    case 3: return json::Value(*rc::gen::arbitrary<bool>());
    case 4: {
      json::Value out = json::Value::array();
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) out.items().push_back(any_json(depth - 1));
      return out;
    }
    default: {
      json::Value out = json::Value::object();
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n)
        out.set(unicode_text(), any_json(depth - 1));
      return out;
    }
  }
}

template <class T, class Make>
void fill_list(void* place, Make make) {
  auto& list = *static_cast<std::vector<T>*>(place);
  for (int n = *rc::gen::inRange(0, 6); n > 0; --n) list.push_back(make());
}

void fill(const Shape& shape, void* message);

void fill_value(const Field& row, void* place) {
  switch (row.type) {
    case Type::int64: *static_cast<int64_t*>(place) = integer<int64_t>(); return;
    case Type::uint32: *static_cast<uint32_t*>(place) = integer<uint32_t>(); return;
    case Type::uint64: *static_cast<uint64_t*>(place) = integer<uint64_t>(); return;
    case Type::float64: *static_cast<double*>(place) = finite_double(); return;
    case Type::boolean: *static_cast<bool*>(place) = *rc::gen::arbitrary<bool>(); return;
    case Type::string: *static_cast<std::string*>(place) = unicode_text(); return;
    case Type::object: return fill(*row.shape, place);
    case Type::opaque: {
      json::Value block = json::Value::object();
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) block.set(unicode_text(), any_json(3));
      *static_cast<json::Value*>(place) = std::move(block);
      return;
    }
    case Type::int64s: return fill_list<int64_t>(place, integer<int64_t>);
    case Type::uint32s: return fill_list<uint32_t>(place, integer<uint32_t>);
    case Type::uint64s: return fill_list<uint64_t>(place, integer<uint64_t>);
    case Type::float64s: return fill_list<double>(place, finite_double);
    case Type::strings: return fill_list<std::string>(place, unicode_text);
    case Type::objects:
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) fill(*row.shape, row.shape->append(place));
      return;
    case Type::int64_lists:
      return fill_list<std::vector<int64_t>>(place, [] {
        std::vector<int64_t> inner;
        fill_list<int64_t>(&inner, integer<int64_t>);
        return inner;
      });
    case Type::uint32_lists:
      return fill_list<std::vector<uint32_t>>(place, [] {
        std::vector<uint32_t> inner;
        fill_list<uint32_t>(&inner, integer<uint32_t>);
        return inner;
      });
    case Type::counts: {
      auto& counts = *static_cast<std::map<std::string, uint32_t>*>(place);
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n)
        counts[unicode_text()] = integer<uint32_t>();
      return;
    }
  }
}

void fill(const Shape& shape, void* message) {
  for (const Field& row : shape.fields) {
    if (row.required || *rc::gen::inRange(0, 3) == 0) fill_value(row, row.set(message));
  }
}

// The same object with its members in another order, at every level of the closed part.
void shuffle(json::Value& value) {
  if (value.is_array()) {
    for (json::Value& item : value.items()) shuffle(item);
  } else if (value.is_object()) {
    std::vector<json::Member>& members = value.members();
    for (size_t i = members.size(); i > 1; --i) {
      std::swap(members[i - 1], members[*rc::gen::inRange<size_t>(0, i)]);
    }
    for (json::Member& member : members) shuffle(member.second);
  }
}

TEST(WireProperty, RequestsSurviveTheWire) {
  EXPECT_TRUE(rc::check("read(write(request)) == request", [] {
    Request request;
    fill(request_shape(), &request);
    const std::string line = write_request(request);
    RC_ASSERT(line.find('\n') == std::string::npos);
    const auto read = read_request(line);
    RC_ASSERT(read);
    RC_ASSERT(*read == request);
    RC_ASSERT(write_request(*read) == line);
  }));
}

TEST(WireProperty, ResponsesSurviveTheWire) {
  EXPECT_TRUE(rc::check("read(write(response)) == response", [] {
    Response response;
    fill(response_shape(), &response);
    const std::string line = write_response(response);
    RC_ASSERT(line.find('\n') == std::string::npos);
    const auto read = read_response(line);
    RC_ASSERT(read);
    RC_ASSERT(*read == response);
    RC_ASSERT(write_response(*read) == line);
  }));
}

TEST(WireProperty, TheOrderOfKeysDoesNotMatter) {
  EXPECT_TRUE(rc::check("read(shuffled line) == response", [] {
    Response response;
    fill(response_shape(), &response);
    // Opaque blocks keep their order, so they stay out of this comparison.
    if (response.effective_spec) response.effective_spec->dflash.reset();
    if (response.effective_spec) response.effective_spec->dspark.reset();
    auto tree = json::parse(write_response(response));
    RC_ASSERT(tree);
    shuffle(*tree);
    const auto read = read_response(json::write(*tree));
    RC_ASSERT(read);
    RC_ASSERT(*read == response);
  }));
}

TEST(WireProperty, EveryCutOfALineIsRefused) {
  EXPECT_TRUE(rc::check("no proper prefix of a line is a message", [] {
    Response response;
    fill(response_shape(), &response);
    const std::string line = write_response(response);
    const size_t size = *rc::gen::inRange<size_t>(0, line.size());
    RC_ASSERT(!read_response(std::string_view(line).substr(0, size)));
  }));
}

}  // namespace
}  // namespace assay::protocol
