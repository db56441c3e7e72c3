// SPDX-License-Identifier: Apache-2.0
// Preloaded: after CUCO_STACKS_AFTER seconds every thread prints where it is, for programs that
// hang inside a call.    g++ -shared -fPIC -O1 -o stacks.so stacks.cc
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <dirent.h>
#include <execinfo.h>

namespace {

void show(int) {
  void* frames[48];
  const int count = backtrace(frames, 48);
  char head[64];
  const int length =
      std::snprintf(head, sizeof head, "--- thread %ld\n", static_cast<long>(syscall(SYS_gettid)));
  (void)!write(2, head, static_cast<size_t>(length));
  backtrace_symbols_fd(frames, count, 2);
}

void show_all() {
  const long own = syscall(SYS_gettid);
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) {
    const long thread = std::atol(entry->d_name);
    if (thread == 0 || thread == own) continue;
    syscall(SYS_tgkill, getpid(), thread, SIGUSR2);
    usleep(50'000);  // one after the other
  }
  closedir(tasks);
}

__attribute__((constructor)) void start() {
  const char* after = std::getenv("CUCO_STACKS_AFTER");
  if (after == nullptr) return;
  void* warm[2];
  (void)backtrace(warm, 2);
  std::signal(SIGUSR2, show);
  std::thread([seconds = std::atoi(after)] {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    show_all();
  }).detach();
}

}  // namespace
