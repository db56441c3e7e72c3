// SPDX-License-Identifier: Apache-2.0
//
// Two pivots, because sources may lie anywhere, also below the folder where the new root is built:
//   1. a small tmpfs becomes the root, with the old root at /old;
//   2. the new root is put together at /new from binds of /old/...;
//   3. /new becomes the root and everything else is let go.
#include "system/jail/jail_mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "system/os/fd.h"
#include "system/os/os_error.h"
#include "system/os/streams.h"

namespace cuco::system::jail {
namespace {

const Path kOld = "/old";
const Path kNew = "/new";

Path below(const Path& root, const Path& path) {
  return root / path.relative_path();
}

Result<void> checked(int code, std::string_view what, const Path& path) {
  if (code != 0) return os_error(fmt::format("{} '{}'", what, path.string()));
  return {};
}

Result<void> mount_tmpfs(const Path& target, std::uint64_t bytes, std::uint32_t mode) {
  CUCO_TRY(make_folder(target));
  const std::string options = fmt::format("size={},mode={:o}", bytes, mode);
  return checked(::mount("tmpfs", target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()),
                 "mount tmpfs on", target);
}

Result<void> make_file(const Path& path, std::string_view text) {
  CUCO_TRY(make_folder(path.parent_path()));
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.is_open()) return os_error(fmt::format("make '{}'", path.string()));
  return write_all(fd.get(), text);
}

enum class Rights { Read, Write, Device };

Result<void> bind(const Path& path, Rights rights) {
  const Path source = below(kOld, path);
  const Path target = below(kNew, path);
  struct stat status{};
  if (::lstat(source.c_str(), &status) != 0) return checked(-1, "find", path);
  if (S_ISLNK(status.st_mode)) {
    std::error_code code;
    CUCO_TRY(make_folder(target.parent_path()));
    std::filesystem::copy_symlink(source, target, code);
    return {};
  }
  // What a system folder shows already (an installation in /usr) cannot be made there, nor need it.
  struct stat there{};
  if (::lstat(target.c_str(), &there) != 0)
    CUCO_TRY(S_ISDIR(status.st_mode) ? make_folder(target) : make_file(target, ""));
  CUCO_TRY(checked(::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr),
                   "bind", path));
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID;
  if (rights != Rights::Device) attributes.attr_set |= MOUNT_ATTR_NODEV;
  if (rights == Rights::Read) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  return checked(static_cast<int>(::syscall(SYS_mount_setattr, AT_FDCWD, target.c_str(),
                                            AT_RECURSIVE, &attributes, sizeof(attributes))),
                 "protect", path);
}

Result<void> make_dev(std::uint64_t scratch) {
  CUCO_TRY(mount_tmpfs(kNew / "dev", 1U << 20U, 0755));
  for (const char* name : {"null", "zero", "full", "random", "urandom"}) {
    CUCO_TRY(bind(Path("/dev") / name, Rights::Device));
  }
  for (const auto& [name, target] : {std::pair{"fd", "/proc/self/fd"},
                                     {"stdin", "/proc/self/fd/0"},
                                     {"stdout", "/proc/self/fd/1"},
                                     {"stderr", "/proc/self/fd/2"}}) {
    CUCO_TRY(checked(::symlink(target, (kNew / "dev" / name).c_str()), "link", name));
  }
  return mount_tmpfs(kNew / "dev/shm", scratch, 01777);
}

/// Names for our one user: PMIx crashes without a passwd entry.
Result<void> make_etc(std::uint32_t user) {
  CUCO_TRY(make_file(kNew / "etc/passwd",
                     fmt::format("root:x:0:0::/:/bin/sh\ncuco:x:{0}:{0}::/tmp:/bin/sh\n", user)));
  CUCO_TRY(make_file(kNew / "etc/group", fmt::format("root:x:0:\ncuco:x:{}:\n", user)));
  return make_file(kNew / "etc/hosts", "127.0.0.1 localhost\n");
}

Result<void> enter_staging() {
  CUCO_TRY(checked(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "isolate", "/"));
  const Path staging = "/tmp";
  CUCO_TRY(mount_tmpfs(staging, 1U << 20U, 0755));
  CUCO_TRY(make_folder(staging / "old"));
  CUCO_TRY(make_folder(staging / "new"));
  CUCO_TRY(checked(::chdir(staging.c_str()), "enter", staging));
  CUCO_TRY(checked(static_cast<int>(::syscall(SYS_pivot_root, ".", "old")), "pivot to", staging));
  return checked(::chdir("/"), "enter", "/");
}

Result<void> enter_new() {
  CUCO_TRY(checked(::chdir(kNew.c_str()), "enter", kNew));
  CUCO_TRY(checked(static_cast<int>(::syscall(SYS_pivot_root, ".", ".")), "pivot to", kNew));
  // The old root is now stacked on the new one; letting go of it uncovers ours.
  CUCO_TRY(checked(::umount2(".", MNT_DETACH), "let go of", "old root"));
  CUCO_TRY(checked(::chdir("/"), "enter", "/"));
  return checked(
      ::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, nullptr),
      "protect", "/");
}

}  // namespace

std::vector<Path> system_paths() {
  std::vector<Path> found;
  for (const char* name :
       {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/ld.so.conf",
        "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/openmpi", "/etc/pmix-mca-params.conf",
        "/etc/nsswitch.conf", "/etc/localtime"}) {
    struct stat status{};
    if (::lstat(name, &status) == 0) found.emplace_back(name);
  }
  return found;
}

Result<void> enter_private_root(const SandboxSpec& sandbox,
                                std::uint32_t user,
                                std::uint64_t scratch) {
  ::umask(0022);
  std::vector<Path> base = sandbox.system_paths ? system_paths() : std::vector<Path>();
  CUCO_TRY(enter_staging());
  CUCO_TRY(mount_tmpfs(kNew, 16U << 20U, 0755));
  CUCO_TRY(mount_tmpfs(kNew / "tmp", scratch, 01777));
  CUCO_TRY(make_dev(scratch));
  CUCO_TRY(make_folder(kNew / "proc"));
  CUCO_TRY(checked(
      ::mount("proc", (kNew / "proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr),
      "mount", "/proc"));
  for (const Path& path : base)
    CUCO_TRY(bind(path, Rights::Read));
  CUCO_TRY(make_etc(user));

  // Outer folders first, so that a writable folder inside a read-only one stays writable.
  std::vector<std::pair<Path, Rights>> binds;
  for (const Path& path : sandbox.read_only)
    binds.emplace_back(path, Rights::Read);
  for (const Path& path : sandbox.writable)
    binds.emplace_back(path, Rights::Write);
  for (const Path& path : sandbox.devices)
    binds.emplace_back(path, Rights::Device);
  std::stable_sort(binds.begin(), binds.end(), [](const auto& a, const auto& b) {
    return a.first.string().size() < b.first.string().size();
  });
  for (const auto& [path, rights] : binds) {
    CUCO_TRY(bind(path, rights));
    // In a user namespace the folder is ours already, and chown may be refused: no matter.
    if (rights == Rights::Write) {
      static_cast<void>(::lchown(below(kNew, path).c_str(), user, user));
    }
  }
  return enter_new();
}

}  // namespace cuco::system::jail
