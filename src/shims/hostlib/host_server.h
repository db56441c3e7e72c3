// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the wrappers share: the server, the functions they stand in for, and who calls them.
#pragma once

#include <cstdint>
#include <ctime>

#include <dlfcn.h>

#include "shims/wire/client.h"
#include "shims/wire/messages_host.h"

namespace cuco::hostlib {

/// The server, once libcudart has been loaded into this process; null before, and in processes that
/// do not use CUDA. A wrapper without a server does what the function it wraps does.
[[nodiscard]] const wire::ClientApi* server();

/// Does this return address belong to the program (or to the C++ library on its behalf), rather
/// than to MPI's, the C library's or our own machinery, whose waits mean nothing?
[[nodiscard]] bool called_by_program(const void* return_address);

/// The next definition of a function after ours. `name` must exist: the program linked it.
template <typename Function>
[[nodiscard]] Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// The same for a function that the C library has in two versions, of which the older is broken
/// for programs of today.
template <typename Function>
[[nodiscard]] Function next(const char* name, const char* version) {
  return reinterpret_cast<Function>(::dlvsym(RTLD_NEXT, name, version));
}

/// Posts and waits on the server's semaphores; scope 0: this process, 1: the whole cluster.
void post(const wire::ClientApi& api,
          std::uint64_t key,
          std::uint32_t scope,
          std::uint32_t count = 1,
          std::uint64_t last_ticket = ~std::uint64_t{0});
/// False: `timeout_ps` passed (negative: never).
bool wait(const wire::ClientApi& api,
          std::uint64_t key,
          std::uint32_t scope,
          wire::HostWait kind,
          std::int64_t timeout_ps = -1,
          std::uint64_t ticket = 0);
void meet(const wire::ClientApi& api,
          std::uint64_t key,
          std::uint32_t scope,
          std::uint32_t count,
          wire::HostWait kind);
/// Reads the thread's virtual time; every look costs a little of it, so that polling gets on.
[[nodiscard]] std::int64_t read_clock(const wire::ClientApi& api);
void sleep_for(const wire::ClientApi& api, std::int64_t duration_ps);
/// Time from now, by the program's virtual clock, until `until`; 0 if that is over.
[[nodiscard]] std::int64_t picoseconds_until(const wire::ClientApi& api,
                                             clockid_t clock,
                                             const timespec& until);

/// Tells the server that the thread is blocked in something nobody can predict.
class Outside {
 public:
  Outside(const wire::ClientApi& api, wire::HostWait kind);
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  const wire::ClientApi& api_;
};

}  // namespace cuco::hostlib

#define CUCO_HOST_EXPORT extern "C" __attribute__((visibility("default")))
#define CUCO_CALLED_BY_PROGRAM \
  ::cuco::hostlib::called_by_program(__builtin_extract_return_addr(__builtin_return_address(0)))
