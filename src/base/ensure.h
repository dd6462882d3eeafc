// ENSURE: our own bug. It stops the program, in release too; input never trips it.
#pragma once

namespace assay {

/// Prints the condition and its place on stderr, then aborts.
[[noreturn]] void ensure_failed(const char* condition, const char* file, int line,
                                const char* function) noexcept;

}  // namespace assay

// Macros for the place: clang 14 has no std::source_location with this standard library.
#define ENSURE(condition)             \
  ((condition) ? static_cast<void>(0) \
               : ::assay::ensure_failed(#condition, __FILE__, __LINE__, __func__))
