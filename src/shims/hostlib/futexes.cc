// SPDX-License-Identifier: Apache-2.0
// Futexes: what std::atomic::wait, std::barrier, std::latch, std::counting_semaphore and
// std::future sleep on. The C++ library asks for them by syscall(), from headers, so in the
// program's own code.
//
// As for condition variables the sleeper is the server's, so that it knows who can run, and a wait
// ends at the virtual time of the call that ended it.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <ctime>

#include "shims/hostlib/host_server.h"
#include "shims/hostlib/sleepers.h"

namespace cuco::hostlib {
namespace {

Sleepers& futex_sleepers() {
  static auto* const kSleepers = new Sleepers;  // Never destroyed: used until the very end.
  return *kSleepers;
}

/// Apart from the key of a mutex at the same address: words are at multiples of 4.
std::uint64_t key_of(const std::uint32_t* word) {
  return reinterpret_cast<std::uint64_t>(word) | 1U;
}

/// -1: for ever. FUTEX_WAIT says how long, FUTEX_WAIT_BITSET until when.
std::int64_t timeout_of(const wire::ClientApi& api, int operation, const timespec* time) {
  if (time == nullptr) return -1;
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT)
    return (std::int64_t{time->tv_sec} * 1'000'000'000 + time->tv_nsec) * 1000;
  const bool calendar = (operation & FUTEX_CLOCK_REALTIME) != 0;
  return picoseconds_until(api, calendar ? CLOCK_REALTIME : CLOCK_MONOTONIC, *time);
}

/// What the system call returns: 0, or the error as a negative number.
int wait_for_word(const wire::ClientApi& api,
                  const std::uint32_t* word,
                  std::uint32_t expected,
                  std::int64_t timeout_ps) {
  const auto ticket = futex_sleepers().enter_if(
      word, [&] { return __atomic_load_n(word, __ATOMIC_SEQ_CST) == expected; });
  if (!ticket) return -EAGAIN;
  const bool woken = wait(api, key_of(word), 0, wire::HostWait::Condition, timeout_ps, *ticket);
  futex_sleepers().leave(word, woken);
  // Who is woken together goes on one by one, in the server's order.
  sleep_for(api, 0);
  return woken ? 0 : -ETIMEDOUT;
}

int wake_word(const wire::ClientApi& api, const std::uint32_t* word, std::uint32_t most) {
  const auto woken = futex_sleepers().wake(word, most);
  if (woken.count > 0) post(api, key_of(word), 0, woken.count, woken.last_ticket);
  return static_cast<int>(woken.count);
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT long syscall(long number, ...) noexcept {
  static const auto kNext = next<long (*)(long, long, long, long, long, long, long)>("syscall");
  std::va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words)
    word = va_arg(list, long);
  va_end(list);
  const auto pass_on = [&] {
    return kNext(number, words[0], words[1], words[2], words[3], words[4], words[5]);
  };
  if (number != SYS_futex) return pass_on();
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return pass_on();
  const auto* word = reinterpret_cast<const std::uint32_t*>(words[0]);
  const int operation = static_cast<int>(words[1]) & FUTEX_CMD_MASK;
  const auto value = static_cast<std::uint32_t>(words[2]);
  if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET) {
    const int woken = wake_word(*api, word, value);
    // Threads of libraries sleep on the real one.
    return woken + pass_on();
  }
  if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) return pass_on();
  const auto* time = reinterpret_cast<const timespec*>(words[3]);
  const int result =
      wait_for_word(*api, word, value, timeout_of(*api, static_cast<int>(words[1]), time));
  if (result == 0) return 0;
  errno = -result;
  return -1;
}
