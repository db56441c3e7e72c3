// SPDX-License-Identifier: Apache-2.0
// Makes every system call that has no business in a candidate, and ends well: what was refused is
// for the keeper to say.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "attack.h"

int main() {
  for (const long call : {SYS_ptrace,        SYS_pidfd_getfd,
                          SYS_kcmp,          SYS_process_madvise,
                          SYS_mount,         SYS_umount2,
                          SYS_pivot_root,    SYS_chroot,
                          SYS_unshare,       SYS_setns,
                          SYS_open_tree,     SYS_move_mount,
                          SYS_fsopen,        SYS_fsconfig,
                          SYS_fsmount,       SYS_fspick,
                          SYS_mount_setattr, SYS_open_by_handle_at,
                          SYS_bpf,           SYS_perf_event_open,
                          SYS_userfaultfd,   SYS_init_module,
                          SYS_finit_module,  SYS_delete_module,
                          SYS_kexec_load,    SYS_kexec_file_load,
                          SYS_iopl,          SYS_ioperm,
                          SYS_add_key,       SYS_request_key,
                          SYS_keyctl,        SYS_fanotify_init,
                          SYS_reboot,        SYS_swapon,
                          SYS_swapoff,       SYS_acct,
                          SYS_quotactl,      SYS_settimeofday,
                          SYS_clock_settime, SYS_sethostname,
                          SYS_setdomainname, SYS_syslog,
                          SYS_vhangup}) {
    if (::syscall(call, 0, 0, 0, 0, 0, 0) == 0) std::printf("GOT THROUGH: call %ld\n", call);
  }
  for (const unsigned long flag :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC}) {
    const long child = ::syscall(SYS_clone, flag, 0, 0, 0, 0);
    if (child == 0) ::_exit(0);
    if (child > 0) std::printf("GOT THROUGH: clone with %#lx\n", flag);
  }
  const char typed = '\n';
  if (::ioctl(0, TIOCSTI, &typed) == 0) std::printf("GOT THROUGH: ioctl\n");
}
