// SPDX-License-Identifier: Apache-2.0
/// \file
/// A file with one line per copy from a device to the host, "device bytes digest": what a program
/// got out of its GPUs, for comparing runs of the same program under different schedules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "base/result.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::vcluster {

/// Of what a copy carried; rows are added one by one.
class CopyDigest {
 public:
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x9E37'79B9'7F4A'7C15ULL;
};

class CopyLog {
 public:
  [[nodiscard]] static Result<std::unique_ptr<CopyLog>> create(const system::Path& path);
  /// Written at once: the server may be ended at any moment.
  void add(int device, std::uint64_t bytes, std::uint64_t digest);

 private:
  explicit CopyLog(system::Fd file) : file_(std::move(file)) {}
  system::Fd file_;
};

/// What is in such a file, without order and repetition: streams overtake each other, and programs
/// poll.
struct LoggedCopy {
  int device = 0;
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0;
  auto operator<=>(const LoggedCopy&) const = default;
};
[[nodiscard]] Result<std::set<LoggedCopy>> read_copy_log(const system::Path& path);

}  // namespace cuco::vcluster
