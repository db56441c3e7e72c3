// SPDX-License-Identifier: Apache-2.0
#include "loopback/channel.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cuco::loopback {
namespace {

constexpr int kBacklog = 128;

bool address_of(const std::string& path, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (path.size() >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address->sun_path, path.data(), path.size());
  return true;
}

/// Room for one descriptor beside a message.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

}  // namespace

Channel::Channel(Channel&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(socket_, other.socket_);
  return *this;
}

Channel::~Channel() {
  if (socket_ >= 0) ::close(socket_);
}

int Channel::listen(const std::string& path) {
  sockaddr_un address;
  if (!address_of(path, &address)) return -1;
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(socket, kBacklog) == 0) {
    return socket;
  }
  const int why = errno;
  ::close(socket);
  errno = why;
  return -1;
}

std::optional<Channel> Channel::connect(const std::string& path) {
  sockaddr_un address;
  if (!address_of(path, &address)) return std::nullopt;
  Channel channel(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (channel.is_open() && ::connect(channel.socket_, reinterpret_cast<const sockaddr*>(&address),
                                     sizeof address) == 0) {
    return channel;
  }
  const int why = errno;
  channel = Channel();
  errno = why;
  return std::nullopt;
}

bool Channel::send(std::string_view bytes, int descriptor) {
  if (bytes.size() > kMostBytes) return false;
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<Channel::Message> Channel::receive() {
  Message result;
  result.bytes.resize(kMostBytes);
  iovec part{result.bytes.data(), result.bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t received = 0;
  do {
    received = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received <= 0) return std::nullopt;
  result.bytes.resize(static_cast<std::size_t>(received));
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&result.descriptor, CMSG_DATA(header), sizeof result.descriptor);
  return result;
}

void Channel::set_patience(int seconds) {
  const timeval patience{seconds, 0};
  (void)::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

}  // namespace cuco::loopback
