// SPDX-License-Identifier: Apache-2.0
/// \file
/// Result<T>: the one way a fallible function reports failure.
///
/// Spelled like C++23's std::expected<T, Error>, so this file can become an
/// alias once the toolchain is past g++ 12.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cuco {

/// What went wrong, in terms a caller can act on.
enum class ErrorKind {
  InvalidInput,  ///< Malformed input: report it, do not retry.
  NotFound,      ///< A file, tool, device or record does not exist.
  Unavailable,   ///< Busy, rate-limited or unreachable: a retry may help.
  Timeout,       ///< A deadline passed.
  Io,            ///< The operating system refused an operation.
  Protocol,      ///< A peer (LLM, compiler, worker) broke its contract.
};

/// A failure and the trail of operations it came through.
class Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] const std::string& message() const { return message_; }

  /// Prepends what was being done: "load spec 'a.toml': line 3: unknown key".
  [[nodiscard]] Error while_doing(std::string_view operation) && {
    return {kind_, std::string(operation) + ": " + message_};
  }

 private:
  ErrorKind kind_;
  std::string message_;
};

// NOLINTBEGIN(google-explicit-constructor): `return value;` and `return Error{...};` must convert.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Wrong-side access throws std::bad_variant_access: it is a bug, and it is loud.
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success carries nothing.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  const Error& error() const& { return std::get<Error>(state_); }
  Error&& error() && { return std::get<Error>(std::move(state_)); }

 private:
  std::variant<std::monostate, Error> state_;
};
// NOLINTEND(google-explicit-constructor)

}  // namespace cuco

#define CUCO_CONCAT_INNER(a, b) a##b
#define CUCO_CONCAT(a, b) CUCO_CONCAT_INNER(a, b)

/// Returns the error of `expr` from the enclosing function, if it has one.
#define CUCO_TRY(expr)                                       \
  do {                                                       \
    auto cuco_result = (expr);                               \
    if (!cuco_result) return std::move(cuco_result).error(); \
  } while (false)

/// CUCO_TRY_ASSIGN(const Spec spec, parse_spec(text));
#define CUCO_TRY_ASSIGN(declaration, expr)                         \
  auto CUCO_CONCAT(cuco_result_, __LINE__) = (expr);               \
  if (!CUCO_CONCAT(cuco_result_, __LINE__)) {                      \
    return std::move(CUCO_CONCAT(cuco_result_, __LINE__)).error(); \
  }                                                                \
  declaration = *std::move(CUCO_CONCAT(cuco_result_, __LINE__))
