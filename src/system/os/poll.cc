// SPDX-License-Identifier: Apache-2.0
#include "system/os/poll.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>
#include <vector>

#include "system/os/os_error.h"

namespace cuco::system {

Result<bool> wait_for_any(std::span<Watched> list, std::chrono::milliseconds timeout) {
  std::vector<pollfd> fds;
  for (Watched& watched : list) {
    watched.readable = watched.closed = false;
    fds.push_back({watched.fd, POLLIN, 0});
  }
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(timeout.count()));
  if (ready < 0 && errno != EINTR) return os_error("poll");
  if (ready <= 0) return false;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    list[i].readable = (fds[i].revents & (POLLIN | POLLERR | POLLNVAL)) != 0;
    list[i].closed = (fds[i].revents & POLLHUP) != 0;
  }
  return true;
}

Result<Fd> any_of(std::span<const int> fds) {
  Fd all(::epoll_create1(EPOLL_CLOEXEC));
  if (!all.is_open()) return os_error("epoll_create1");
  for (const int fd : fds) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(all.get(), EPOLL_CTL_ADD, fd, &event) != 0) return os_error("epoll_ctl");
  }
  return all;
}

}  // namespace cuco::system
