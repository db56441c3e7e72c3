// SPDX-License-Identifier: Apache-2.0
// Tries to write where it has no business: beside its folder, to system folders, and to a file of
// the test whose path comes as an argument.
#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "attack.h"

int main(int argc, char** argv) {
  for (const std::string& path :
       {std::string("/usr/bin/hostile"), std::string("/etc/hostile"), std::string("/hostile"),
        std::string("/proc/sys/kernel/core_pattern"),
        std::string(argc > 1 ? argv[1] : "/root/x")}) {
    if (::open(path.c_str(), O_CREAT | O_WRONLY, 0644) >= 0) got_through(path.c_str());
  }
  if (::open("inside", O_CREAT | O_WRONLY, 0644) < 0) refused("write inside, which is allowed");
  errno = EROFS;
  refused("write outside");
}
