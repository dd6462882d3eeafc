// BarePipe: a trivial child on two pipes, driven with one blocking write and read a round trip.
#pragma once

#include <sys/types.h>

#include <string>

namespace assay::bench {

class BarePipe {
 public:
  /// Starts `program` with the size of its answers as argument. Needs both sizes > 0.
  BarePipe(const std::string& program, size_t request_size, size_t answer_size);
  ~BarePipe();
  BarePipe(const BarePipe&) = delete;
  BarePipe& operator=(const BarePipe&) = delete;

  /// Writes one request line and reads the whole answer line; false when the child is gone.
  bool round_trip();

 private:
  std::string request_;
  size_t answer_size_;
  int to_child_ = -1;
  int from_child_ = -1;
  pid_t pid_ = -1;
};

}  // namespace assay::bench
