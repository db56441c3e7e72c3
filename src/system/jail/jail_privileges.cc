// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <grp.h>

#include "system/os/os_error.h"

namespace cuco::system::jail {
namespace {

Result<void> limit(__rlimit_resource resource,
                   std::uint64_t soft,
                   std::uint64_t slack,
                   const char* name) {
  rlimit current{};
  ::getrlimit(resource, &current);
  const rlim_t hard = std::min<rlim_t>(soft + slack, current.rlim_max);
  const rlimit wanted{std::min<rlim_t>(soft, hard), hard};
  if (::setrlimit(resource, &wanted) != 0) return os_error(name);
  return {};
}

}  // namespace

Result<void> drop_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    ::prctl(PR_CAPBSET_DROP, capability);  // refused without CAP_SETPCAP: then there are none
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return os_error("drop capabilities");
  return {};
}

Result<void> become(std::uint32_t user) {
  if (::geteuid() == 0) {
    for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
      ::prctl(PR_CAPBSET_DROP, capability);
    }
    if (::setgroups(0, nullptr) != 0 && errno != EPERM) return os_error("drop groups");
  }
  if (::getuid() != user &&
      (::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0)) {
    return os_error("change user");
  }
  return drop_capabilities();
}

Result<void> set_no_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return os_error("no_new_privs");
  return {};
}

Result<void> set_limits(const Limits& limits, bool own_memory, bool own_processes) {
  CUCO_TRY(limit(RLIMIT_CORE, 0, 0, "core limit"));
  if (limits.cpu) {
    // One second between SIGXCPU, which tells why, and SIGKILL, which cannot be caught.
    CUCO_TRY(limit(RLIMIT_CPU, static_cast<std::uint64_t>(limits.cpu->count()), 1, "cpu limit"));
  }
  if (limits.file_size != 0) CUCO_TRY(limit(RLIMIT_FSIZE, limits.file_size, 0, "file size limit"));
  if (limits.open_files != 0) CUCO_TRY(limit(RLIMIT_NOFILE, limits.open_files, 0, "open files"));
  // Not RLIMIT_AS: CUDA (and our virtual one) reserves address space by the terabyte.
  if (own_memory) CUCO_TRY(limit(RLIMIT_DATA, limits.memory, 0, "data limit"));
  if (own_processes) CUCO_TRY(limit(RLIMIT_NPROC, limits.processes, 0, "process limit"));
  return {};
}

}  // namespace cuco::system::jail
