#include "publish/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "publish/refusals.h"
#include "publish/shard.h"

namespace assay::publish {

namespace {

json::Value cell_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean;
  return {};
}

constexpr size_t kPieceBytes = size_t{1} << 20;

// Calls `put` with pieces of whole lines, one line a row; returns the number of rows.
template <class Put>
Result<size_t> each_piece(std::string_view shard_path, std::string_view shard_bytes, Put&& put) {
  TRY(shard, read_shard(shard_bytes));
  const std::string run_id = std::filesystem::path(shard_path).stem().string();
  std::vector<std::pair<std::string, size_t>> order;  // keys sorted once, not once a row
  for (size_t i = 0; i < shard.names.size(); ++i) {
    if (!shard.cells[i].empty()) order.emplace_back(shard.names[i], i);
  }
  order.emplace_back("run_id", shard.names.size());
  std::sort(order.begin(), order.end());
  std::string lines;
  for (size_t row = 0; row < shard.rows; ++row) {
    lines.push_back('{');
    for (const auto& [key, column] : order) {
      const json::Value value =
          column == shard.names.size() ? json::Value(run_id) : cell_json(shard.at(column, row));
      if (value.is_null()) continue;
      if (lines.back() != '{') lines.push_back(',');
      json::append_quoted(lines, key);
      lines.push_back(':');
      lines += json::write(value);
    }
    lines += "}\n";
    if (lines.size() < kPieceBytes && row + 1 < shard.rows) continue;
    TRY_DO(put(lines));
    lines.clear();
  }
  return shard.rows;
}

}  // namespace

std::filesystem::path default_events_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/')
    return std::filesystem::path(state) / "assay" / "bench-events.jsonl";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") /
         ".local/state/assay/bench-events.jsonl";
}

Status append_events(const std::filesystem::path& feed, std::string_view shard_path,
                     std::string_view shard_bytes) {
  std::error_code error;
  std::filesystem::create_directories(feed.parent_path(), error);
  const int fd = ::open(feed.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const auto failed = [&feed](int number) {
    return Refusal(kEventsNotWritten, cat("`", feed.string(), "`: ", std::strerror(number)));
  };
  if (fd < 0) return failed(errno);
  const auto written = each_piece(shard_path, shard_bytes, [&](std::string_view lines) -> Status {
    while (!lines.empty()) {
      const ssize_t put = ::write(fd, lines.data(), lines.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return failed(errno);
      lines.remove_prefix(static_cast<size_t>(put));
    }
    return {};
  });
  const int closed = ::close(fd);
  if (!written) return Refusal(kEventsNotWritten, written.refusal().text());
  if (closed != 0) return failed(errno);
  return {};
}

Result<Replay> replay_events(const std::filesystem::path& feed, Store& store) {
  TRY(files, store.list("data"));
  std::error_code error;
  std::filesystem::create_directories(feed.parent_path(), error);
  // Beside the feed, then in its place: a reader sees the old feed or the new one.
  const std::filesystem::path beside = feed.string() + cat(".", ::getpid(), ".tmp");
  std::FILE* const out = std::fopen(beside.c_str(), "wbe");
  const auto failed = [&]() {
    return Refusal(kEventsNotWritten, cat("`", feed.string(), "`: ", std::strerror(errno)));
  };
  if (out == nullptr) return failed();
  Replay replay;
  const auto all = [&]() -> Status {
    for (const StoredFile& file : files) {
      if (!file.path.ends_with(".parquet")) continue;
      const auto got = store.get(file.path);
      if (!got) {
        if (got.refusal().code != kStoreRead.code) return got.refusal();
        replay.left_out.push_back(got.refusal());
        continue;
      }
      const std::optional<std::string>& bytes = *got;
      if (!bytes) continue;
      if (!sha256_hex(*bytes).starts_with(digest_in_name(file.path))) {
        replay.left_out.emplace_back(
            kStoreDamaged, cat("`", file.path, "`: not the bytes that its name promises"));
        continue;
      }
      const auto rows = each_piece(file.path, *bytes, [&](std::string_view lines) -> Status {
        if (std::fwrite(lines.data(), 1, lines.size(), out) != lines.size()) return failed();
        return {};
      });
      if (!rows && rows.refusal().code != kShardUnreadable.code) return rows.refusal();
      if (rows) {
        replay.lines += *rows;
      } else {
        replay.left_out.push_back(at(file.path, rows.refusal()));
      }
    }
    return {};
  }();
  bool kept = std::fflush(out) == 0;
  kept = std::fclose(out) == 0 && kept;
  if (kept && all && replay.lines == 0 && !replay.left_out.empty()) {
    std::remove(beside.c_str());
    return replay;
  }
  kept = kept && all && std::rename(beside.c_str(), feed.c_str()) == 0;
  if (kept) return replay;
  const Refusal why = all ? failed() : all.refusal();
  std::remove(beside.c_str());
  return why;
}

}  // namespace assay::publish
