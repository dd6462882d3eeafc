// Result<T>: a value or a Refusal. Exceptions do not cross our functions.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/ensure.h"
#include "base/refusal.h"

namespace assay {

/// T, or the Refusal that says why there is none. Reading the absent side is our bug (ENSURE).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Refusal refusal) : state_(std::in_place_index<1>, std::move(refusal)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }

  T& operator*() & {
    ENSURE(state_.index() == 0);
    return std::get<0>(state_);
  }
  const T& operator*() const& {
    ENSURE(state_.index() == 0);
    return std::get<0>(state_);
  }
  T&& operator*() && {
    ENSURE(state_.index() == 0);
    return std::get<0>(std::move(state_));
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  const Refusal& refusal() const& {
    ENSURE(state_.index() == 1);
    return std::get<1>(state_);
  }
  Refusal&& refusal() && {
    ENSURE(state_.index() == 1);
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Refusal> state_;
};

/// Success without a value, or a Refusal.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Refusal refusal) : refusal_(std::move(refusal)) {}

  explicit operator bool() const noexcept { return !refusal_.has_value(); }

  const Refusal& refusal() const& {
    ENSURE(refusal_.has_value());
    return *refusal_;
  }
  Refusal&& refusal() && {
    ENSURE(refusal_.has_value());
    return *std::move(refusal_);
  }

 private:
  std::optional<Refusal> refusal_;
};

using Status = Result<void>;

}  // namespace assay

// Binds the value of a Result to `name`, or returns its Refusal from the enclosing function.
#define TRY(name, expr)                                          \
  auto name##_result = (expr);                                   \
  if (!name##_result) return std::move(name##_result).refusal(); \
  auto& name = *name##_result

// The same for a Status, or for a Result whose value is not wanted.
#define TRY_DO(expr)                                                                   \
  do {                                                                                 \
    if (auto try_result = (expr); !try_result) return std::move(try_result).refusal(); \
  } while (false)
