// SPDX-License-Identifier: Apache-2.0
// What host code calls that was compiled with -fsanitize=thread and linked with us instead of the
// sanitizer's own library. Names and types are those of the compiler's interface.
//
// A volatile or atomic access is a flag's, and an ordering one whatever order it names: that may
// hide a mistake, but never makes one up.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shims/hostlib/host_accesses.h"
#include "shims/hostlib/host_server.h"

namespace {

using cuco::hostlib::is_watched;
using cuco::hostlib::record;
using Kind = cuco::wire::HostAccess::Kind;

constexpr Kind kRead = cuco::wire::HostAccess::kRead;
constexpr Kind kWrite = cuco::wire::HostAccess::kWrite;
constexpr Kind kLook = cuco::wire::HostAccess::kLook;
constexpr Kind kRaise = cuco::wire::HostAccess::kRaise;

template <typename T>
void look_and_raise(const volatile T* at, const void* caller) {
  if (!is_watched(at)) return;
  record(at, sizeof(T), kLook, caller);
  record(at, sizeof(T), kRaise, caller);
}

}  // namespace

#define CUCO_CALLER __builtin_extract_return_addr(__builtin_return_address(0))
#define CUCO_SEE(at, bytes, kind) \
  if (is_watched(at)) record(at, bytes, kind, CUCO_CALLER)

#define CUCO_ACCESS(name, bytes, kind)            \
  CUCO_HOST_EXPORT void __tsan_##name(void* at) { \
    CUCO_SEE(at, bytes, kind);                    \
  }
#define CUCO_ACCESSES(bytes)                                \
  CUCO_ACCESS(read##bytes, bytes, kRead)                    \
  CUCO_ACCESS(write##bytes, bytes, kWrite)                  \
  CUCO_ACCESS(unaligned_read##bytes, bytes, kRead)          \
  CUCO_ACCESS(unaligned_write##bytes, bytes, kWrite)        \
  CUCO_ACCESS(volatile_read##bytes, bytes, kLook)           \
  CUCO_ACCESS(volatile_write##bytes, bytes, kRaise)         \
  CUCO_ACCESS(unaligned_volatile_read##bytes, bytes, kLook) \
  CUCO_ACCESS(unaligned_volatile_write##bytes, bytes, kRaise)

CUCO_ACCESSES(1)
CUCO_ACCESSES(2)
CUCO_ACCESSES(4)
CUCO_ACCESSES(8)
CUCO_ACCESSES(16)

CUCO_HOST_EXPORT void __tsan_read_range(void* at, unsigned long bytes) {
  CUCO_SEE(at, bytes, kRead);
}
CUCO_HOST_EXPORT void __tsan_write_range(void* at, unsigned long bytes) {
  CUCO_SEE(at, bytes, kWrite);
}
CUCO_HOST_EXPORT void __tsan_vptr_read(void** at) {
  CUCO_SEE(at, sizeof *at, kRead);
}
CUCO_HOST_EXPORT void __tsan_vptr_update(void** at, void*) {
  CUCO_SEE(at, sizeof *at, kWrite);
}
CUCO_HOST_EXPORT void __tsan_init() {
  cuco::hostlib::announce_watch();
}
CUCO_HOST_EXPORT void __tsan_func_entry(void*) {}
CUCO_HOST_EXPORT void __tsan_func_exit() {}
CUCO_HOST_EXPORT void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
CUCO_HOST_EXPORT void __tsan_atomic_signal_fence(int) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Sequentially consistent, whatever was asked for: stronger is never wrong.
#define CUCO_FETCH(bits, T, op)                                                       \
  CUCO_HOST_EXPORT T __tsan_atomic##bits##_fetch_##op(volatile T* at, T value, int) { \
    look_and_raise(at, CUCO_CALLER);                                                  \
    return __atomic_fetch_##op(at, value, __ATOMIC_SEQ_CST);                          \
  }
#define CUCO_ATOMICS(bits, T)                                                                     \
  CUCO_HOST_EXPORT T __tsan_atomic##bits##_load(const volatile T* at, int) {                      \
    CUCO_SEE(at, sizeof(T), kLook);                                                               \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                               \
  CUCO_HOST_EXPORT void __tsan_atomic##bits##_store(volatile T* at, T value, int) {               \
    CUCO_SEE(at, sizeof(T), kRaise);                                                              \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                \
  }                                                                                               \
  CUCO_HOST_EXPORT T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {               \
    look_and_raise(at, CUCO_CALLER);                                                              \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                      \
  }                                                                                               \
  CUCO_HOST_EXPORT int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, \
                                                                     T value, int, int) {         \
    /* One that is tried again and again writes nothing. */                                       \
    const T found = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                        \
    CUCO_SEE(at, sizeof(T), kLook);                                                               \
    if (found != *expected) {                                                                     \
      *expected = found;                                                                          \
      return 0;                                                                                   \
    }                                                                                             \
    CUCO_SEE(at, sizeof(T), kRaise);                                                              \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,              \
                                       __ATOMIC_SEQ_CST);                                         \
  }                                                                                               \
  CUCO_HOST_EXPORT int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected,   \
                                                                   T value, int one, int two) {   \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, one, two);          \
  }                                                                                               \
  CUCO_FETCH(bits, T, add)                                                                        \
  CUCO_FETCH(bits, T, sub)                                                                        \
  CUCO_FETCH(bits, T, and)                                                                        \
  CUCO_FETCH(bits, T, or)                                                                         \
  CUCO_FETCH(bits, T, xor)                                                                        \
  CUCO_FETCH(bits, T, nand)

CUCO_ATOMICS(8, std::uint8_t)
CUCO_ATOMICS(16, std::uint16_t)
CUCO_ATOMICS(32, std::uint32_t)
CUCO_ATOMICS(64, std::uint64_t)

// The linker leads the program's own calls here (--wrap); libraries keep the C library's.
CUCO_HOST_EXPORT void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  CUCO_SEE(from, bytes, kRead);
  CUCO_SEE(to, bytes, kWrite);
  return std::memcpy(to, from, bytes);
}
CUCO_HOST_EXPORT void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  CUCO_SEE(from, bytes, kRead);
  CUCO_SEE(to, bytes, kWrite);
  return std::memmove(to, from, bytes);
}
CUCO_HOST_EXPORT void* __wrap_memset(void* to, int value, std::size_t bytes) {
  CUCO_SEE(to, bytes, kWrite);
  return std::memset(to, value, bytes);
}
CUCO_HOST_EXPORT int __wrap_memcmp(const void* one, const void* two, std::size_t bytes) {
  CUCO_SEE(one, bytes, kRead);
  CUCO_SEE(two, bytes, kRead);
  return std::memcmp(one, two, bytes);
}
