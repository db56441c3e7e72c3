// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads and writes that finish: EINTR and short transfers are dealt with here and nowhere else.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::system {

/// Calls again while a signal handler got in the way: `retry([&] { return ::read(...); })`.
template <typename Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  return result;
}

/// Writes everything. A peer that has gone is an Io error, never a SIGPIPE (sockets), so writers
/// to pipes must ignore that signal themselves.
[[nodiscard]] Result<void> write_all(int fd, std::string_view bytes);

/// Fills the span; Protocol if the stream ends before.
[[nodiscard]] Result<void> read_exactly(int fd, std::span<std::byte> bytes);

/// Fills the span with what the file holds from `offset` on; Protocol if it ends before.
[[nodiscard]] Result<void> read_exactly_at(int fd,
                                           std::uint64_t offset,
                                           std::span<std::byte> bytes);

/// The file's size in bytes.
[[nodiscard]] Result<std::uint64_t> size_of(int fd);

/// Reads to the end; InvalidInput if there is more than `limit`.
[[nodiscard]] Result<std::string> read_to_end(int fd, std::size_t limit);

/// Waits until there is something to read (or the end). False if the time ran out.
[[nodiscard]] Result<bool> wait_readable(int fd, std::optional<std::chrono::milliseconds> timeout);

}  // namespace cuco::system
