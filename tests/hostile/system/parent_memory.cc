// SPDX-License-Identifier: Apache-2.0
// Tries to read its parent's memory, by /proc and by process_vm_readv; the keeper's pid, which is
// outside, comes as an argument.
#include <fcntl.h>
#include <sys/uio.h>

#include <cstdlib>
#include <string>

#include "attack.h"

int main(int argc, char** argv) {
  const std::string outside = argc > 1 ? argv[1] : "1";
  for (const std::string& pid : {std::to_string(::getppid()), outside}) {
    if (::open(("/proc/" + pid + "/mem").c_str(), O_RDWR) >= 0) got_through("/proc/PID/mem");
    char byte = 0;
    iovec local{&byte, 1};
    iovec remote{reinterpret_cast<void*>(0x400000), 1};
    if (::process_vm_readv(static_cast<pid_t>(std::atoi(pid.c_str())), &local, 1, &remote, 1, 0) >=
        0) {
      got_through("process_vm_readv");
    }
  }
  refused("reading another's memory");
}
