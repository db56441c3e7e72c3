// SPDX-License-Identifier: Apache-2.0
/// \file
/// Unix sockets: pairs, listeners, and messages that carry file descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::system {

enum class SocketKind {
  Stream,
  Packet,  ///< SOCK_SEQPACKET: ordered, with message borders.
};

[[nodiscard]] Result<std::pair<Fd, Fd>> socket_pair(SocketKind kind);

/// Listens at a path, which must be free and shorter than 108 bytes. `mode` says who may connect.
[[nodiscard]] Result<Fd> listen_at(const Path& path, SocketKind kind, int mode = 0600);
[[nodiscard]] Result<Fd> accept_from(const Fd& listener);
/// A connection that is waiting at a non-blocking listener; absent: there is none.
[[nodiscard]] std::optional<Fd> accept_waiting(const Fd& listener);
/// The process at the other end of a Unix socket, in the kernel's word; 0: it does not say.
[[nodiscard]] std::uint32_t peer_pid(const Fd& socket);
/// Where a Unix socket listens; empty: nowhere in the file system.
[[nodiscard]] std::string path_of(const Fd& listener);
/// From here on calls on it (and all its duplicates) return at once.
[[nodiscard]] Result<void> set_nonblocking(const Fd& fd);
[[nodiscard]] Result<Fd> connect_to(const Path& path, SocketKind kind);

/// The most descriptors in one message.
inline constexpr std::size_t kMaxPassedFds = 64;

/// Sends at least one byte together with copies of the descriptors.
[[nodiscard]] Result<void> send_with_fds(const Fd& socket,
                                         std::string_view bytes,
                                         std::span<const int> fds);

struct Received {
  std::size_t bytes = 0;  ///< 0: the peer has closed.
  std::vector<Fd> fds;    ///< Close-on-exec.
};

/// Receives one message (Packet) or what is there (Stream). A message that does not fit is a
/// Protocol error: half a message is never handed out.
[[nodiscard]] Result<Received> receive_with_fds(const Fd& socket, std::span<std::byte> buffer);

}  // namespace cuco::system
