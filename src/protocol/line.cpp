#include "protocol/line.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "protocol/refusals.h"

namespace assay::protocol {

namespace {
constexpr size_t kFirstCapacity = size_t{64} << 10;  // a pipe's own buffer
}  // namespace

LineBuffer::LineBuffer(size_t size_max)
    : size_max_(size_max), capacity_(std::min(kFirstCapacity, size_max + 1)) {
  bytes_ = std::make_unique_for_overwrite<char[]>(capacity_);
}

std::span<char> LineBuffer::room() {
  if (begin_ == end_) {
    begin_ = scanned_ = end_ = 0;
  } else if (begin_ > 0 && end_ == capacity_) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_ && capacity_ <= size_max_) {
    const size_t larger = std::min(capacity_ * 2, size_max_ + 1);
    auto bytes = std::make_unique_for_overwrite<char[]>(larger);
    std::memcpy(bytes.get(), bytes_.get(), end_);
    bytes_ = std::move(bytes);
    capacity_ = larger;
  }
  return {bytes_.get() + end_, capacity_ - end_};
}

void LineBuffer::filled(size_t n) {
  ENSURE(n <= capacity_ - end_);
  end_ += n;
}

namespace {
std::string_view without_cr(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}
}  // namespace

Result<std::optional<std::string_view>> LineBuffer::next() {
  const char* const base = bytes_.get();
  const void* found =
      end_ == scanned_ ? nullptr : std::memchr(base + scanned_, '\n', end_ - scanned_);
  if (found == nullptr) {
    scanned_ = end_;
    if (end_ - begin_ > size_max_) {
      return Refusal(kLineTooLong, cat("more than ", size_max_, " bytes came without a line end"));
    }
    return std::optional<std::string_view>();
  }
  const size_t line_end = static_cast<size_t>(static_cast<const char*>(found) - base);
  const std::string_view line(base + begin_, line_end - begin_);
  begin_ = scanned_ = line_end + 1;
  return std::optional(without_cr(line));
}

std::optional<std::string_view> LineBuffer::rest() {
  if (begin_ == end_) return std::nullopt;
  const std::string_view line(bytes_.get() + begin_, end_ - begin_);
  begin_ = scanned_ = end_;
  return without_cr(line);
}

}  // namespace assay::protocol
