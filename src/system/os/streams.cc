// SPDX-License-Identifier: Apache-2.0
#include "system/os/streams.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "system/os/os_error.h"

namespace cuco::system {

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = retry([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (n < 0 && errno == ENOTSOCK) {
      n = retry([&] { return ::write(fd, bytes.data(), bytes.size()); });
    }
    if (n < 0) return os_error("write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> read_exactly(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = retry([&] { return ::read(fd, bytes.data(), bytes.size()); });
    if (n < 0) return os_error("read");
    if (n == 0) return Error{ErrorKind::Protocol, "stream ended early"};
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> read_exactly_at(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n =
        retry([&] { return ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n < 0) return os_error("read");
    if (n == 0) return Error{ErrorKind::Protocol, "file ended early"};
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<std::uint64_t> size_of(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return os_error("size of a file");
  return static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
}

Result<std::string> read_to_end(int fd, std::size_t limit) {
  std::string bytes;
  std::array<char, 1U << 16U> chunk;
  while (true) {
    const ssize_t n = retry([&] { return ::read(fd, chunk.data(), chunk.size()); });
    if (n < 0) return os_error("read");
    if (n == 0) return bytes;
    bytes.append(chunk.data(), static_cast<std::size_t>(n));
    if (bytes.size() > limit) {
      return Error{ErrorKind::InvalidInput, fmt::format("longer than {} bytes", limit)};
    }
  }
}

Result<bool> wait_readable(int fd, std::optional<std::chrono::milliseconds> timeout) {
  using SteadyClock = std::chrono::steady_clock;
  const auto end = SteadyClock::now() + timeout.value_or(std::chrono::milliseconds(0));
  while (true) {
    int left = -1;
    if (timeout) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
      left = static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, 1'000'000'000));
    }
    pollfd query{fd, POLLIN, 0};
    const int ready = ::poll(&query, 1, left);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return os_error("poll");
  }
}

}  // namespace cuco::system
