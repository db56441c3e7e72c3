// SPDX-License-Identifier: Apache-2.0
#include "vcluster/describe.h"

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

}  // namespace cuco::vcluster
