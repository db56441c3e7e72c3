// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/describe.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "vcluster/core/cluster.h"

namespace cuco::vcluster {

std::string describe(wire::HostWait kind) {
  switch (kind) {
    case wire::HostWait::Join:
      return "the end of a thread";
    case wire::HostWait::Mutex:
      return "a mutex";
    case wire::HostWait::Condition:
      return "a condition variable";
    case wire::HostWait::Semaphore:
      return "a semaphore";
    case wire::HostWait::Barrier:
      return "a barrier";
    case wire::HostWait::Process:
      return "the end of a process";
    case wire::HostWait::MessagePassing:
      return "a message";
    case wire::HostWait::Io:
      return "input or output";
    case wire::HostWait::Unknown:
      break;
  }
  return "something outside the virtual cluster";
}

void say_not_repeatable(Cluster& cluster, const Session& session) {
  if (!std::exchange(cluster.repeatable, false)) return;
  fmt::print(stderr, "cuco: note: this run may differ when repeated: {} thread {} waits for {}\n",
             session.process->name(), session.thread, session.waits_for());
}

}  // namespace cuco::vcluster
