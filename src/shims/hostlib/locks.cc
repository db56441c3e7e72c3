// SPDX-License-Identifier: Apache-2.0
// Mutexes, condition variables, semaphores and barriers of the program.
//
// A thread that has to wait does so on a semaphore of the server, named by the object's address;
// the real object is only ever tried. So the server knows at every moment which threads can run,
// and a wait ends at the virtual time of the call that ended it. Threads of libraries use the real
// objects as ever; whoever signals serves both kinds.
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <map>

#include <pthread.h>
#include <semaphore.h>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/sleepers.h"
#include "shims/hostlib/waiters.h"

namespace cuco::hostlib {
namespace {

/// Condition variables changed their layout once; without a version the loader gives the old ones.
constexpr const char* kCondition = "GLIBC_2.3.2";

// Process-wide by nature: they describe the process's own locks.
Waiters& lock_waiters() {
  static auto* const kWaiters = new Waiters;  // Never destroyed: locks are used until the very end.
  return *kWaiters;
}

Sleepers& condition_sleepers() {
  static auto* const kSleepers = new Sleepers;
  return *kSleepers;
}

std::uint64_t key_of(const void* object) {
  return reinterpret_cast<std::uint64_t>(object);
}

/// Tries until it works; between two tries the server waits for somebody who lets go.
template <typename Try>
int lock_by_trying(const wire::ClientApi& api, void* object, wire::HostWait kind, Try attempt) {
  int result = attempt();
  if (result != EBUSY) return result;
  lock_waiters().add(object);
  // Once more: whoever let go before we were counted did not tell the server.
  while ((result = attempt()) == EBUSY)
    wait(api, key_of(object), 0, kind);
  lock_waiters().remove(object);
  return result;
}

void tell_waiters(const void* object, std::uint32_t most) {
  const std::uint32_t waiting = lock_waiters().count(object);
  if (waiting == 0) return;
  if (const auto* api = server()) post(*api, key_of(object), 0, waiting < most ? waiting : most);
}

void wake_sleepers(const void* condition, std::uint32_t most) {
  const auto woken = condition_sleepers().wake(condition, most);
  if (woken.count == 0) return;
  if (const auto* api = server()) {
    post(*api, key_of(condition), 0, woken.count, woken.last_ticket);
  }
}

int lock_mutex(const wire::ClientApi& api, pthread_mutex_t* mutex) {
  static const auto kTry = next<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
  return lock_by_trying(api, mutex, wire::HostWait::Mutex, [&] { return kTry(mutex); });
}

int wait_for_condition(const wire::ClientApi& api,
                       pthread_cond_t* condition,
                       pthread_mutex_t* mutex,
                       std::int64_t timeout_ps) {
  const std::uint64_t ticket = condition_sleepers().enter(condition);
  ::pthread_mutex_unlock(mutex);
  const bool signalled =
      wait(api, key_of(condition), 0, wire::HostWait::Condition, timeout_ps, ticket);
  condition_sleepers().leave(condition, signalled);
  // A broadcast wakes several threads at one virtual time: they take the mutex one by one, in the
  // server's order, not as this machine happens to run them.
  sleep_for(api, 0);
  lock_mutex(api, mutex);
  return signalled ? 0 : ETIMEDOUT;
}

struct BarrierState {
  std::uint32_t count = 0;
  std::uint32_t arrived = 0;
};

/// Guarded by its own lock, which nobody holds while waiting.
struct Barriers {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::map<const void*, BarrierState> states;
};
Barriers& barriers() {
  static auto* const kBarriers = new Barriers;
  return *kBarriers;
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto kNext = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  static const auto kTry = next<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
  const int first = kTry(mutex);
  if (first == 0) return 0;
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (first != EBUSY || api == nullptr) return kNext(mutex);
  return lock_mutex(*api, mutex);
}

CUCO_HOST_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static const auto kNext = next<int (*)(pthread_mutex_t*)>("pthread_mutex_unlock");
  const int result = kNext(mutex);
  tell_waiters(mutex, 1);
  return result;
}

CUCO_HOST_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto kNext =
      next<int (*)(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", kCondition);
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(condition, mutex);
  return wait_for_condition(*api, condition, mutex, -1);
}

CUCO_HOST_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition,
                                            pthread_mutex_t* mutex,
                                            const timespec* until) {
  static const auto kNext = next<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
      "pthread_cond_timedwait", kCondition);
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(condition, mutex, until);
  return wait_for_condition(*api, condition, mutex,
                            picoseconds_until(*api, CLOCK_REALTIME, *until));
}

CUCO_HOST_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition,
                                            pthread_mutex_t* mutex,
                                            clockid_t clock,
                                            const timespec* until) {
  static const auto kNext =
      next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
          "pthread_cond_clockwait");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(condition, mutex, clock, until);
  return wait_for_condition(*api, condition, mutex, picoseconds_until(*api, clock, *until));
}

CUCO_HOST_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  static const auto kNext = next<int (*)(pthread_cond_t*)>("pthread_cond_signal", kCondition);
  const int result = kNext(condition);
  wake_sleepers(condition, 1);
  return result;
}

CUCO_HOST_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  static const auto kNext = next<int (*)(pthread_cond_t*)>("pthread_cond_broadcast", kCondition);
  const int result = kNext(condition);
  wake_sleepers(condition, UINT32_MAX);
  return result;
}

CUCO_HOST_EXPORT int sem_wait(sem_t* semaphore) {
  static const auto kNext = next<int (*)(sem_t*)>("sem_wait");
  static const auto kTry = next<int (*)(sem_t*)>("sem_trywait");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(semaphore);
  const int result = lock_by_trying(*api, semaphore, cuco::wire::HostWait::Semaphore, [&] {
    if (kTry(semaphore) == 0) return 0;
    return errno == EAGAIN ? EBUSY : errno;
  });
  if (result == 0) return 0;
  errno = result;
  return -1;
}

CUCO_HOST_EXPORT int sem_post(sem_t* semaphore) noexcept {
  static const auto kNext = next<int (*)(sem_t*)>("sem_post");
  const int result = kNext(semaphore);
  tell_waiters(semaphore, 1);
  return result;
}

CUCO_HOST_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier,
                                          const pthread_barrierattr_t* attributes,
                                          unsigned count) noexcept {
  static const auto kNext =
      next<int (*)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned)>(
          "pthread_barrier_init");
  ::pthread_mutex_lock(&barriers().mutex);
  barriers().states[barrier] = {count, 0};
  ::pthread_mutex_unlock(&barriers().mutex);
  return kNext(barrier, attributes, count);
}

CUCO_HOST_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  static const auto kNext = next<int (*)(pthread_barrier_t*)>("pthread_barrier_wait");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(barrier);
  ::pthread_mutex_lock(&barriers().mutex);
  BarrierState& state = barriers().states[barrier];
  const std::uint32_t count = state.count;
  // One thread of every round is told that it is the one.
  const bool is_last = count != 0 && ++state.arrived % count == 0;
  ::pthread_mutex_unlock(&barriers().mutex);
  if (count == 0) return kNext(barrier);
  meet(*api, key_of(barrier), 0, count, cuco::wire::HostWait::Barrier);
  return is_last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
