// SPDX-License-Identifier: Apache-2.0
// Waits for other processes that have nothing to do with CUDA: children, and peers at sockets that
// a program hands its NCCL id over. The server is told, and lets the others go on meanwhile.
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "shims/hostlib/host_server.h"

namespace cuco::hostlib {
namespace {

/// A thread that the server does not know holds nobody up.
const wire::ClientApi* server_that_knows_us() {
  const wire::ClientApi* api = server();
  return api != nullptr && api->clock() != 0 ? api : nullptr;
}

bool has_come(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) != 0;
}

template <typename Call>
auto wait_outside(const wire::ClientApi* api, wire::HostWait kind, Call call) {
  if (api == nullptr) return call();
  const Outside blocked(*api, kind);
  return call();
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT pid_t waitpid(pid_t child, int* status, int options) {
  static const auto kNext = next<pid_t (*)(pid_t, int*, int)>("waitpid");
  const bool waits = CUCO_CALLED_BY_PROGRAM && (options & WNOHANG) == 0;
  return wait_outside(waits ? server_that_knows_us() : nullptr, cuco::wire::HostWait::Process,
                      [&] { return kNext(child, status, options); });
}

CUCO_HOST_EXPORT pid_t wait(int* status) {
  static const auto kNext = next<pid_t (*)(int*)>("wait");
  return wait_outside(CUCO_CALLED_BY_PROGRAM ? server_that_knows_us() : nullptr,
                      cuco::wire::HostWait::Process, [&] { return kNext(status); });
}

CUCO_HOST_EXPORT int accept(int fd, sockaddr* address, socklen_t* length) {
  static const auto kNext = next<int (*)(int, sockaddr*, socklen_t*)>("accept");
  const bool waits = CUCO_CALLED_BY_PROGRAM && !has_come(fd);
  return wait_outside(waits ? server_that_knows_us() : nullptr, cuco::wire::HostWait::Io,
                      [&] { return kNext(fd, address, length); });
}

CUCO_HOST_EXPORT ssize_t recv(int fd, void* data, std::size_t bytes, int flags) {
  static const auto kNext = next<ssize_t (*)(int, void*, std::size_t, int)>("recv");
  const bool waits = CUCO_CALLED_BY_PROGRAM && (flags & MSG_DONTWAIT) == 0 && !has_come(fd);
  return wait_outside(waits ? server_that_knows_us() : nullptr, cuco::wire::HostWait::Io,
                      [&] { return kNext(fd, data, bytes, flags); });
}
