// Secrets that are known by their values and must not come back into a file: what is sent in an
// endpoint's headers, what a server is started with. A server may repeat a key in an error message,
// a name or the answer itself.
//
// Threads   plain data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "load/endpoint.h"

namespace assay::load {

class Secrets {
 public:
  Secrets() = default;
  /// The headers' values, without a leading "Bearer ".
  explicit Secrets(const Endpoint& endpoint);
  /// Values of fewer than four characters are left out: as parts of words they stand everywhere.
  void add(std::string_view secret);
  void add(const Secrets& others);

  [[nodiscard]] bool empty() const { return spellings_.empty(); }
  /// The text with `***` for every secret, also for one that is escaped as JSON.
  [[nodiscard]] std::string hidden(std::string text) const;
  /// The same in every text of a document. Names of members stay.
  void hide(json::Value& value) const;

 private:
  std::vector<std::string> spellings_{};
};

}  // namespace assay::load
