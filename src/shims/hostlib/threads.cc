// SPDX-License-Identifier: Apache-2.0
// Threads of the program: the server knows each from its birth to its end.
//
// A thread that the server does not know cannot be waited for: its parent would block in a join and
// the simulation would run past what the child was about to do. So a new thread says hello before
// its parent goes on, and says when it ends.
#include <cstdint>
#include <map>
#include <memory>

#include <pthread.h>
#include <semaphore.h>

#include "shims/hostlib/host_server.h"

namespace cuco::hostlib {
namespace {

constexpr std::uint64_t kJoinKeys = 0x4A00'0000'0000'0000;  // Apart from keys that are addresses.

/// Threads that can be joined, by handle.
struct Births {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::map<pthread_t, std::uint64_t> keys;
  std::uint64_t next = kJoinKeys;
};
Births& births() {
  static auto* const kBirths = new Births;  // Never destroyed: threads end after main does.
  return *kBirths;
}

struct Birth {
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
  std::uint64_t key = 0;
  std::int64_t born_at = 0;
  sem_t is_known;
};

using SemFunction = int (*)(sem_t*);

/// Posts the join key on every way out of a thread: return, pthread_exit, cancellation.
struct Farewell {
  std::uint64_t key;
  ~Farewell() {
    if (const auto* api = server()) post(*api, key, 0);
  }
};

void* live(void* raw) {
  auto* birth = static_cast<Birth*>(raw);
  const auto function = birth->function;
  void* argument = birth->argument;
  const Farewell farewell{birth->key};
  if (const auto* api = server()) {
    api->set_birth_clock(birth->born_at);
    (void)api->identity();
  }
  // The real one: the parent waits in real time, for microseconds.
  static const auto kPost = next<SemFunction>("sem_post");
  kPost(&birth->is_known);
  return function(argument);
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int pthread_create(pthread_t* thread,
                                    const pthread_attr_t* attributes,
                                    void* (*function)(void*),
                                    void* argument) noexcept {
  static const auto kNext =
      next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  static const auto kWait = next<SemFunction>("sem_wait");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr || api->identity() == nullptr) {
    return kNext(thread, attributes, function, argument);
  }
  Birth birth;
  birth.born_at = read_clock(*api);
  birth.function = function;
  birth.argument = argument;
  ::sem_init(&birth.is_known, 0, 0);
  Births& all = births();
  ::pthread_mutex_lock(&all.mutex);
  birth.key = all.next++;
  ::pthread_mutex_unlock(&all.mutex);
  const int result = kNext(thread, attributes, live, &birth);
  if (result != 0) return result;
  while (kWait(&birth.is_known) != 0) {
  }
  ::pthread_mutex_lock(&all.mutex);
  all.keys[*thread] = birth.key;
  ::pthread_mutex_unlock(&all.mutex);
  return 0;
}

CUCO_HOST_EXPORT int pthread_join(pthread_t thread, void** result) {
  static const auto kNext = next<int (*)(pthread_t, void**)>("pthread_join");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(thread, result);
  Births& all = births();
  ::pthread_mutex_lock(&all.mutex);
  const auto found = all.keys.find(thread);
  const std::uint64_t key = found == all.keys.end() ? 0 : found->second;
  if (key != 0) all.keys.erase(found);
  ::pthread_mutex_unlock(&all.mutex);
  if (key == 0) {
    const Outside outside(*api, cuco::wire::HostWait::Join);
    return kNext(thread, result);
  }
  (void)wait(*api, key, 0, cuco::wire::HostWait::Join);
  return kNext(thread, result);
}
