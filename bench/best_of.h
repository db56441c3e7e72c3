// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the benchmarks with a table of their own share: CPU time of a thread, and the machine.
#pragma once

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <fmt/format.h>

namespace cuco::bench {

/// CPU time of this thread: other processes cost it cache and clock, but not time slices.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double cpu_seconds_of(const std::function<void()>& work) {
  const double start = cpu_seconds();
  work();
  return cpu_seconds() - start;
}

inline double best_of(int repeats, const std::function<void()>& work) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i)
    best = std::min(best, cpu_seconds_of(work));
  return best;
}

/// The processor, its number of threads and how many processes want them now.
inline std::string machine() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string name = "unknown CPU";
  for (std::string line; std::getline(cpus, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    name = line.substr(line.find(':') + 2);
    break;
  }
  std::ifstream file("/proc/loadavg");
  std::string load;
  file >> load;
  return fmt::format("{}, {} threads, load {}", name, std::thread::hardware_concurrency(), load);
}

}  // namespace cuco::bench
