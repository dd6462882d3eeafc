// Memory read bandwidth: the bound of decoding, where every weight byte is read once a token.
#pragma once

namespace assay::bench {

/// Best of `passes` timed passes over a buffer of `size_mib` MiB (far beyond the last cache level),
/// split between `threads` threads, in bytes a second. Allocates the buffer. Seconds of work.
[[nodiscard]] double read_bandwidth(int threads, int size_mib, int passes);

}  // namespace assay::bench
