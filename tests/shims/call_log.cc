// SPDX-License-Identifier: Apache-2.0
//
// Appends the name of each exported function to the file that CUCO_CALL_LOG names, when it is
// called for the first time. Linked into instrumented libraries only: the compiler calls the hook.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#define CUCO_UNTRACED __attribute__((no_instrument_function))

namespace {

constexpr std::size_t kSlots = 1U << 14U;
std::array<std::atomic<void*>, kSlots> seen;

/// True the first time; false too where the table has no room left for it.
CUCO_UNTRACED bool is_new(void* function) {
  const std::size_t first = reinterpret_cast<std::uintptr_t>(function) / 16 % kSlots;
  for (std::size_t i = 0; i < 64; ++i) {
    void* at = nullptr;
    if (seen[(first + i) % kSlots].compare_exchange_strong(at, function)) return true;
    if (at == function) return false;
  }
  return false;
}

CUCO_UNTRACED void note(const char* name) {
  const char* file = std::getenv("CUCO_CALL_LOG");
  if (file == nullptr) return;
  const int fd = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  char line[256];
  const std::size_t length = std::strlen(name);
  if (length + 1 < sizeof line) {
    std::memcpy(line, name, length);
    line[length] = '\n';
    if (::write(fd, line, length + 1) < 0) std::abort();
  }
  ::close(fd);
}

}  // namespace

extern "C" {
CUCO_UNTRACED void __cyg_profile_func_enter(void* function, void*);
CUCO_UNTRACED void __cyg_profile_func_exit(void*, void*);

void __cyg_profile_func_enter(void* function, void*) {
  if (!is_new(function)) return;
  Dl_info info{};
  const bool exported = ::dladdr(function, &info) != 0 && info.dli_saddr == function;
  if (exported && info.dli_sname != nullptr) note(info.dli_sname);
}
void __cyg_profile_func_exit(void*, void*) {}
}
