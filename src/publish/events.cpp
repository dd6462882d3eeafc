#include "publish/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
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

Result<std::string> event_lines(std::string_view shard_path, std::string_view shard_bytes,
                                size_t& count) {
  TRY(shard, read_shard(shard_bytes));
  const std::string run_id = std::filesystem::path(shard_path).stem().string();
  std::string lines;
  for (size_t row = 0; row < shard.rows; ++row) {
    json::Value event = json::Value::object({{"run_id", run_id}});
    for (size_t i = 0; i < shard.names.size(); ++i) {
      json::Value value = cell_json(shard.cells[i][row]);
      if (!value.is_null()) event.set(shard.names[i], std::move(value));
    }
    lines += json::write(event, {.sort_keys = true}) + "\n";
    ++count;
  }
  return lines;
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
  size_t count = 0;
  auto lines = event_lines(shard_path, shard_bytes, count);
  if (!lines) return Refusal(kEventsNotWritten, lines.refusal().text());
  std::error_code error;
  std::filesystem::create_directories(feed.parent_path(), error);
  const int fd = ::open(feed.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return Refusal(kEventsNotWritten, cat("`", feed.string(), "`: ", std::strerror(errno)));
  int failure = 0;
  for (size_t done = 0; done < lines->size() && failure == 0;) {
    const ssize_t put = ::write(fd, lines->data() + done, lines->size() - done);
    if (put >= 0) {
      done += static_cast<size_t>(put);
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  if (::close(fd) != 0 && failure == 0) failure = errno;
  if (failure != 0)
    return Refusal(kEventsNotWritten, cat("`", feed.string(), "`: ", std::strerror(failure)));
  return {};
}

Result<size_t> replay_events(const std::filesystem::path& feed, Store& store) {
  TRY(files, store.list("data"));
  std::string all;
  size_t count = 0;
  for (const StoredFile& file : files) {
    if (!file.path.ends_with(".parquet")) continue;
    TRY(bytes, store.get(file.path));
    if (!bytes) continue;
    auto lines = event_lines(file.path, *bytes, count);
    if (!lines) return at(file.path, std::move(lines).refusal());
    all += *lines;
  }
  auto written = write_file_atomic(feed, all);
  if (!written) return Refusal(kEventsNotWritten, written.refusal().detail);
  return count;
}

}  // namespace assay::publish
