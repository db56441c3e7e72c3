// SPDX-License-Identifier: Apache-2.0
// Clocks show virtual time and sleeps take it, for the program; its libraries keep the real ones.
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "shims/hostlib/host_server.h"

namespace cuco::hostlib {
namespace {

constexpr std::int64_t kPicosecondsPerNanosecond = 1000;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
// Virtual time zero as calendar time: a fixed date, so that runs repeat.
constexpr std::int64_t kEpochSeconds = 1'767'225'600;  // 2026-01-01 00:00 UTC
constexpr std::int64_t kBootSeconds = 1'000;           // What a monotonic clock shows at zero.

bool is_calendar(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

timespec virtual_time(const wire::ClientApi& api, clockid_t clock) {
  const std::int64_t now = read_clock(api) / kPicosecondsPerNanosecond;
  timespec result{};
  result.tv_sec = (is_calendar(clock) ? kEpochSeconds : kBootSeconds) + now / kNanosecondsPerSecond;
  result.tv_nsec = now % kNanosecondsPerSecond;
  return result;
}

std::int64_t picoseconds(const timespec& time) {
  return (std::int64_t{time.tv_sec} * kNanosecondsPerSecond + time.tv_nsec) *
         kPicosecondsPerNanosecond;
}

}  // namespace
}  // namespace cuco::hostlib

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static const auto kNext = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(clock, out);
  *out = virtual_time(*api, clock);
  return 0;
}

CUCO_HOST_EXPORT int gettimeofday(timeval* out, void* zone) noexcept {
  static const auto kNext = next<int (*)(timeval*, void*)>("gettimeofday");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(out, zone);
  const timespec now = virtual_time(*api, CLOCK_REALTIME);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

CUCO_HOST_EXPORT time_t time(time_t* out) noexcept {
  static const auto kNext = next<time_t (*)(time_t*)>("time");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(out);
  const time_t now = virtual_time(*api, CLOCK_REALTIME).tv_sec;
  if (out != nullptr) *out = now;
  return now;
}

CUCO_HOST_EXPORT int nanosleep(const timespec* duration, timespec* left) {
  static const auto kNext = next<int (*)(const timespec*, timespec*)>("nanosleep");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr || duration == nullptr) return kNext(duration, left);
  sleep_for(*api, picoseconds(*duration));
  return 0;
}

CUCO_HOST_EXPORT int clock_nanosleep(clockid_t clock,
                                     int flags,
                                     const timespec* until,
                                     timespec* left) {
  static const auto kNext =
      next<int (*)(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr || until == nullptr) return kNext(clock, flags, until, left);
  std::int64_t duration = picoseconds(*until);
  if ((flags & TIMER_ABSTIME) != 0) duration -= picoseconds(virtual_time(*api, clock));
  if (duration > 0) sleep_for(*api, duration);
  return 0;
}

CUCO_HOST_EXPORT int usleep(useconds_t microseconds) {
  static const auto kNext = next<int (*)(useconds_t)>("usleep");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(microseconds);
  sleep_for(*api, std::int64_t{microseconds} * 1'000'000);
  return 0;
}

CUCO_HOST_EXPORT unsigned sleep(unsigned seconds) {
  static const auto kNext = next<unsigned (*)(unsigned)>("sleep");
  const auto* api = CUCO_CALLED_BY_PROGRAM ? server() : nullptr;
  if (api == nullptr) return kNext(seconds);
  sleep_for(*api, std::int64_t{seconds} * 1'000'000'000'000);
  return 0;
}
