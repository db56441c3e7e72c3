// SPDX-License-Identifier: Apache-2.0
#include "system/os/socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/assert.h"
#include "system/os/os_error.h"
#include "system/os/streams.h"

namespace cuco::system {
namespace {

int type_of(SocketKind kind) {
  return (kind == SocketKind::Stream ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC;
}

Result<sockaddr_un> address_of(const Path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof(address.sun_path)) {
    return Error{ErrorKind::InvalidInput, fmt::format("socket path longer than {} bytes: {}",
                                                      sizeof(address.sun_path) - 1, text)};
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

Result<std::pair<Fd, Fd>> socket_pair(SocketKind kind) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type_of(kind), 0, ends.data()) != 0) return os_error("socketpair");
  return std::pair<Fd, Fd>(Fd(ends[0]), Fd(ends[1]));
}

Result<Fd> listen_at(const Path& path, SocketKind kind, int mode) {
  CUCO_TRY_ASSIGN(const sockaddr_un address, address_of(path));
  Fd socket(::socket(AF_UNIX, type_of(kind), 0));
  if (!socket.is_open()) return os_error("socket");
  if (::bind(socket.get(), generic(address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0 || ::listen(socket.get(), 128) != 0) {
    return os_error(fmt::format("listen at '{}'", path.string()));
  }
  return socket;
}

Result<Fd> accept_from(const Fd& listener) {
  Fd connection(retry([&] { return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC); }));
  if (!connection.is_open()) return os_error("accept");
  return connection;
}

std::optional<Fd> accept_waiting(const Fd& listener) {
  Fd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.is_open()) return std::nullopt;
  return connection;
}

std::uint32_t peer_pid(const Fd& socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return 0;
  return static_cast<std::uint32_t>(credentials.pid);
}

std::string path_of(const Fd& listener) {
  sockaddr_un address{};
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(listener.get(), any, &length) != 0) return "";
  if (address.sun_family != AF_UNIX || address.sun_path[0] == '\0') return "";
  return address.sun_path;
}

Result<void> set_nonblocking(const Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) return os_error("fcntl");
  return {};
}

Result<Fd> connect_to(const Path& path, SocketKind kind) {
  CUCO_TRY_ASSIGN(const sockaddr_un address, address_of(path));
  Fd socket(::socket(AF_UNIX, type_of(kind), 0));
  if (!socket.is_open()) return os_error("socket");
  if (retry([&] { return ::connect(socket.get(), generic(address), sizeof(address)); }) != 0) {
    return os_error(fmt::format("connect to '{}'", path.string()));
  }
  return socket;
}

Result<void> send_with_fds(const Fd& socket, std::string_view bytes, std::span<const int> fds) {
  CUCO_ASSERT(!bytes.empty() && fds.size() <= kMaxPassedFds);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPassedFds)> control{};
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  const ssize_t sent = retry([&] { return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL); });
  if (sent < 0) return os_error("sendmsg");
  return write_all(socket.get(), bytes.substr(static_cast<std::size_t>(sent)));
}

Result<Received> receive_with_fds(const Fd& socket, std::span<std::byte> buffer) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPassedFds)> control{};
  iovec data{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = retry([&] { return ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC); });
  if (n < 0) return os_error("recvmsg");
  Received received;
  received.bytes = static_cast<std::size_t>(n);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      received.fds.emplace_back(fd);
    }
  }
  if ((static_cast<unsigned>(message.msg_flags) & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Error{ErrorKind::Protocol, "message longer than the receiver allows"};
  }
  return received;
}

}  // namespace cuco::system
