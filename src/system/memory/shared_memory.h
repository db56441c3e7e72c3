// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory shared between processes: anonymous files, seals and mappings.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "system/os/fd.h"

namespace cuco::system {

/// An anonymous file of that size, zero-filled, sparse, that can be sealed.
[[nodiscard]] Result<Fd> create_shared_memory(const std::string& name, std::size_t bytes);

/// From here on the file can be neither written (existing writable mappings must be gone) nor
/// resized, by anybody: what a reader maps stays as it is.
[[nodiscard]] Result<void> seal_contents(const Fd& memory);

/// Could somebody cut the file short, so that an access through a mapping faults?
[[nodiscard]] bool may_shrink(const Fd& memory);

enum class Access { Read, ReadWrite };

/// A shared mapping of a file's first bytes; unmapped on destruction. Moves; does not copy.
class Mapping {
 public:
  [[nodiscard]] static Result<Mapping> map(const Fd& memory, std::size_t bytes, Access access);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace cuco::system
