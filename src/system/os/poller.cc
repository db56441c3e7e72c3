// SPDX-License-Identifier: Apache-2.0
#include "system/os/poller.h"

#include <sys/epoll.h>

#include <array>

#include "system/os/os_error.h"

namespace cuco::system {

Result<Poller> Poller::create() {
  Fd poller(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller.is_open()) return os_error("epoll_create1");
  return Poller(std::move(poller));
}

Result<void> Poller::add(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return os_error("epoll_ctl");
  return {};
}

void Poller::remove(int fd) {
  ::epoll_ctl(poller_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Result<std::vector<int>> Poller::wait(std::chrono::milliseconds timeout) {
  std::array<epoll_event, 32> events{};
  const int count = ::epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(timeout.count()));
  if (count < 0 && errno != EINTR) return os_error("epoll_wait");
  std::vector<int> ready;
  for (int i = 0; i < count; ++i)
    ready.push_back(events[static_cast<std::size_t>(i)].data.fd);
  return ready;
}

}  // namespace cuco::system
