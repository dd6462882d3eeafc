// A store in a temporary folder, and runs to put into it. For the tests of this folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "publish/envelope.h"
#include "publish/run_index.h"
#include "publish/store.h"
#include "view/catalog.h"
#include "view/index.h"
#include "view/page.h"

namespace assay::view {

class TestStore {
 public:
  TestStore();
  ~TestStore();
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path store_folder() const { return folder_ / "store"; }
  [[nodiscard]] std::filesystem::path cache_folder() const { return folder_ / "cache"; }
  [[nodiscard]] std::string url() const { return "file://" + store_folder().string(); }

  /// Publishes the run, without an index entry. Returns its path.
  std::string add(const publish::Envelope& envelope);
  /// Puts any bytes under data/NAME.
  void add_file(const std::string& name, std::string_view bytes);
  /// Replaces the run index.
  void set_index(const publish::RunIndex& index);
  void set_index_text(std::string_view text);

  [[nodiscard]] Catalog open() const;
  [[nodiscard]] Index list() const;

 private:
  std::filesystem::path folder_;
};

/// One run with two rows: `throughput` tok/s and `ttft` ms. `changes` is a JSON object that is laid
/// over it.
[[nodiscard]] publish::Envelope test_run(std::string_view timestamp, std::string_view model = "m",
                                         std::string_view changes = "{}");

[[nodiscard]] publish::IndexEntry test_entry(std::string path, std::string status);

/// The cell of a run or row as text: JSON without quotes, "" for NULL.
[[nodiscard]] std::string run_cell(const Index& index, std::string_view column, size_t run = 0);
[[nodiscard]] std::string row_cell(const Index& index, std::string_view column, size_t row = 0);

/// A page of the shape that viewer/README.md gives, with two modules and a style sheet.
[[nodiscard]] const Page& test_page();

}  // namespace assay::view
