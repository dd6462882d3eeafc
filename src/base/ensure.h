// ENSURE: our own bug. It stops the program, in release too; input never trips it.
#pragma once

#include <source_location>

namespace assay {

/// Prints the condition and its place on stderr, then aborts.
[[noreturn]] void ensure_failed(const char* condition, std::source_location where) noexcept;

}  // namespace assay

#define ENSURE(condition)             \
  ((condition) ? static_cast<void>(0) \
               : ::assay::ensure_failed(#condition, std::source_location::current()))
