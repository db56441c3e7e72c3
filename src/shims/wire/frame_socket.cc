// SPDX-License-Identifier: Apache-2.0
#include "shims/wire/frame_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cuco::wire {
namespace {

Error os_error(const std::string& what) {
  return {ErrorKind::Io, what + ": " + std::strerror(errno)};
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ErrorKind::InvalidInput, "socket path is too long: " + path};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

struct ControlBuffer {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))];
};

/// One sendmsg; the descriptor goes with the first byte.
ssize_t send_some(int socket, iovec* parts, std::size_t count, int fd) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  ControlBuffer control{};
  if (fd >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

/// Of frames that are not yet taken; whoever sends more loses them.
constexpr std::size_t kMostFds = 16;

/// One recvmsg; keeps at most one descriptor, closes any further ones.
ssize_t receive_some(int socket, void* data, std::size_t bytes, int flags, Fd* fd) {
  iovec part{data, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    *fd = Fd(received);
  }
  return got;
}

bool receive_all(int socket, void* data, std::size_t bytes, Fd* fd) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t got = receive_some(socket, at, bytes, 0, fd);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Fd> connect_to(const std::string& path) {
  CUCO_TRY_ASSIGN(const sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return os_error("socket");
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) return os_error("connect to " + path);
  }
  return fd;
}

Result<Fd> listen_at(const std::string& path) {
  CUCO_TRY_ASSIGN(const sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return os_error("socket");
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return os_error("bind " + path);
  }
  if (::listen(fd.get(), 128) != 0) return os_error("listen at " + path);
  return fd;
}

bool send_frame(int socket, Header header, Bytes head, Bytes tail, int fd) {
  header.bytes = static_cast<std::uint32_t>(head.size() + tail.size());
  // iovec is not const-correct: sendmsg does not write.
  iovec parts[3] = {{&header, sizeof header},
                    {const_cast<std::byte*>(head.data()), head.size()},
                    {const_cast<std::byte*>(tail.data()), tail.size()}};
  std::size_t first = 0;
  while (first < 3) {
    const ssize_t sent = send_some(socket, parts + first, 3 - first, fd);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return false;
    fd = -1;
    auto left = static_cast<std::size_t>(sent);
    while (first < 3 && left >= parts[first].iov_len)
      left -= parts[first++].iov_len;
    if (first < 3) {
      parts[first].iov_base = static_cast<std::byte*>(parts[first].iov_base) + left;
      parts[first].iov_len -= left;
    }
  }
  return true;
}

std::optional<Frame> receive_frame(int socket) {
  Frame frame;
  if (!receive_all(socket, &frame.header, sizeof frame.header, &frame.fd)) return std::nullopt;
  const Header& header = frame.header;
  if (header.magic != kMagic || header.version != kVersion || header.bytes > kMaxPayload) {
    return std::nullopt;
  }
  frame.payload.resize(header.bytes);
  if (!receive_all(socket, frame.payload.data(), header.bytes, &frame.fd)) return std::nullopt;
  return frame;
}

FrameReader::State FrameReader::read_some(int socket) {
  for (;;) {
    std::byte chunk[16384];
    Fd fd;
    const ssize_t got = receive_some(socket, chunk, sizeof chunk, MSG_DONTWAIT, &fd);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return parse();
    if (got <= 0) {
      const State state = parse();
      return state == State::Waiting ? State::Closed : state;
    }
    buffer_.insert(buffer_.end(), chunk, chunk + got);
    if (fd.is_open() && fds_.size() < kMostFds) fds_.push_back({buffer_.size(), std::move(fd)});
    const State state = parse();
    if (state != State::Waiting) return state;
  }
}

FrameReader::State FrameReader::parse() {
  const auto header = read_front<Header>(buffer_);
  if (!header) return State::Waiting;
  if (header->magic != kMagic) {
    reason_ = "not a cuco message";
    return State::Malformed;
  }
  if (header->version != kVersion) {
    reason_ = "protocol version " + std::to_string(header->version) + ", expected " +
              std::to_string(kVersion);
    return State::Malformed;
  }
  if (header->bytes > kMaxPayload) {
    reason_ = "payload of " + std::to_string(header->bytes) + " bytes is too large";
    return State::Malformed;
  }
  return buffer_.size() >= sizeof(Header) + header->bytes ? State::Complete : State::Waiting;
}

Frame FrameReader::take() {
  Frame frame;
  frame.header = *read_front<Header>(buffer_);
  const auto begin = buffer_.begin() + sizeof(Header);
  const auto end = begin + frame.header.bytes;
  frame.payload.assign(begin, end);
  const std::size_t size = sizeof(Header) + frame.header.bytes;
  buffer_.erase(buffer_.begin(), end);
  // The kernel ends a read behind the message that a descriptor came with, but may begin it with
  // earlier messages: it belongs to the last frame that begins in what was read.
  while (!fds_.empty() && fds_.front().read_up_to <= size) {
    frame.fd = std::move(fds_.front().fd);
    fds_.pop_front();
  }
  for (Passed& passed : fds_)
    passed.read_up_to -= size;
  return frame;
}

}  // namespace cuco::wire
