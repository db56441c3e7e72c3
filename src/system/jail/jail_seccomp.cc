// SPDX-License-Identifier: Apache-2.0
//
// A list of refusals rather than of permissions: candidates are ordinary C++ with MPI, CUDA and
// NCCL below them, whose calls change with every release; the walls are the namespaces, and this
// filter takes away the tools for tunnelling (new namespaces, other processes' memory, kernel
// interfaces with a history). Sockets of the internet family stay: PMIx listens on loopback, and
// the network namespace has nothing else.
#include "system/jail/jail_seccomp.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <seccomp.h>

#include "system/os/os_error.h"

namespace cuco::system::jail {
namespace {

// Refused and reported. Grouped by what they would be wanted for.
constexpr std::array kForbidden{
    // other processes
    SCMP_SYS(ptrace), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp), SCMP_SYS(process_madvise),
    // a new world of one's own
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(unshare),
    SCMP_SYS(setns), SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    SCMP_SYS(open_by_handle_at),
    // the kernel
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(add_key),
    SCMP_SYS(request_key), SCMP_SYS(keyctl), SCMP_SYS(fanotify_init),
    // the machine
    SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(sethostname), SCMP_SYS(setdomainname),
    SCMP_SYS(syslog), SCMP_SYS(vhangup)};

// Refused in silence: libraries try these and have another way. process_vm_* is Open MPI's fast
// path for large messages. Locks and notices of files that two jobs can read would let them speak.
constexpr std::array kSilent{SCMP_SYS(process_vm_readv),  SCMP_SYS(process_vm_writev),
                             SCMP_SYS(io_uring_setup),    SCMP_SYS(io_uring_enter),
                             SCMP_SYS(io_uring_register), SCMP_SYS(flock),
                             SCMP_SYS(inotify_init),      SCMP_SYS(inotify_init1)};

struct Release {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, Release>;

int add_rules(const Filter& filter, std::uint32_t reported) {
  int code = 0;
  for (const int call : kForbidden) {
    code |= ::seccomp_rule_add(filter.get(), reported, call, 0);
  }
  const std::uint32_t refused = SCMP_ACT_ERRNO(EPERM);
  for (const int call : kSilent)
    code |= ::seccomp_rule_add(filter.get(), refused, call, 0);
  // clone3's flags are in memory, where a filter cannot look: without it, glibc uses clone.
  code |= ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  for (const scmp_datum_t flag :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC}) {
    code |= ::seccomp_rule_add(filter.get(), reported, SCMP_SYS(clone), 1,
                               SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  }
  // Typing into the terminal of whoever started us.
  code |= ::seccomp_rule_add(filter.get(), reported, SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xFFFFFFFFU, TIOCSTI));
  for (const scmp_datum_t family : {AF_PACKET, AF_VSOCK, AF_ALG}) {
    code |= ::seccomp_rule_add(filter.get(), refused, SCMP_SYS(socket), 1,
                               SCMP_A0(SCMP_CMP_EQ, family));
  }
  return code;
}

int load(std::uint32_t reported, Filter& filter) {
  filter.reset(::seccomp_init(SCMP_ACT_ALLOW));
  if (!filter) return -ENOMEM;
  ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 0);  // set by the caller already
  if (const int code = add_rules(filter, reported); code != 0) return -EINVAL;
  return ::seccomp_load(filter.get());
}

}  // namespace

Result<std::optional<Fd>> refuse_forbidden_calls() {
  Filter filter;
  if (load(SCMP_ACT_NOTIFY, filter) == 0) {
    const int listener = ::seccomp_notify_fd(filter.get());
    if (listener >= 0) return std::optional<Fd>(Fd(listener));
  }
  if (const int code = load(SCMP_ACT_ERRNO(EPERM), filter); code != 0) {
    return os_error("seccomp filter", -code);
  }
  return std::optional<Fd>();
}

std::optional<std::string> refuse_next_call(const Fd& listener) {
  seccomp_notif* request = nullptr;
  seccomp_notif_resp* answer = nullptr;
  if (::seccomp_notify_alloc(&request, &answer) != 0) return std::nullopt;
  std::optional<std::string> name;
  if (::seccomp_notify_receive(listener.get(), request) == 0) {
    char* text = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, request->data.nr);
    name = text != nullptr ? text : fmt::format("system call {}", request->data.nr);
    std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): libseccomp's contract
    answer->id = request->id;
    answer->error = -EPERM;
    answer->val = 0;
    answer->flags = 0;
    ::seccomp_notify_respond(listener.get(), answer);  // the caller may be dead already
  }
  ::seccomp_notify_free(request, answer);
  return name;
}

}  // namespace cuco::system::jail
