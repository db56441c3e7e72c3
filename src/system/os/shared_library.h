// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shared libraries while the program runs: those that may or may not be on this machine, and what
/// those that are loaded define.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace cuco::system {

/// Closes on destruction; functions taken from it must not be called after that.
class SharedLibrary {
 public:
  /// Found as the loader finds it. NotFound says why it could not be opened.
  [[nodiscard]] static Result<SharedLibrary> open(const char* name);

  /// Null if the library has no such symbol.
  template <typename Function>
  [[nodiscard]] Function find(const char* name) const {
    return reinterpret_cast<Function>(address_of(name));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  [[nodiscard]] void* address_of(const char* name) const;

  struct Close {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Close> handle_;
};

/// Whether the C library, or whatever else this process is made of, has a symbol of this name.
[[nodiscard]] bool is_library_symbol(const std::string& name);

}  // namespace cuco::system
