// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/thread_wait.h"

namespace cuco::vcluster {
namespace {

struct Words {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const CallWait& wait) const { return wait.call; }
  std::string operator()(const HostThreadWait& wait) const {
    switch (wait.kind) {
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
  std::string operator()(const PinnedMemoryWait&) const {
    return "a value in pinned memory, perhaps (it is busy and makes no calls)";
  }
  std::string operator()(const ServiceWait&) const { return "work for a service thread"; }
};

}  // namespace

std::string describe(const ThreadWait& wait) {
  return std::visit(Words{}, wait);
}

}  // namespace cuco::vcluster
