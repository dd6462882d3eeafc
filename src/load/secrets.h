// What is sent to an endpoint and must not come back into a file: the values of its headers. A
// server may repeat a key in an error message, a name or the answer itself.
//
// Threads   plain data.
#pragma once

#include <string>
#include <vector>

#include "load/endpoint.h"

namespace assay::load {

class Secrets {
 public:
  Secrets() = default;
  /// The headers' values, without a leading "Bearer ". Values of fewer than four characters are
  /// left out: as parts of words they stand everywhere.
  explicit Secrets(const Endpoint& endpoint);

  [[nodiscard]] bool empty() const { return spellings_.empty(); }
  /// The text with `***` for every secret, also for one that is escaped as JSON.
  [[nodiscard]] std::string hidden(std::string text) const;

 private:
  std::vector<std::string> spellings_{};
};

}  // namespace assay::load
