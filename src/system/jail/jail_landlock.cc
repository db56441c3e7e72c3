// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "system/os/fd.h"
#include "system/os/os_error.h"

namespace cuco::system::jail {
namespace {

// Debian 12's headers know version 2 of this interface, its kernels know more; so it is spelled
// out.
struct RulesetAttributes {
  std::uint64_t handled_files = 0;
  std::uint64_t handled_network = 0;
  std::uint64_t scoped = 0;
};
struct __attribute__((packed)) PathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent_fd = -1;
};
constexpr int kPathBeneath = 1;
constexpr unsigned kAskVersion = 1;
constexpr std::uint64_t kExecute = 1U << 0U;
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kReadFile = 1U << 2U;
constexpr std::uint64_t kReadFolder = 1U << 3U;
constexpr std::uint64_t kTruncate = 1U << 14U;
constexpr std::uint64_t kDeviceIoctl = 1U << 15U;
constexpr std::uint64_t kScopeAbstractSockets = 1U << 0U;
constexpr std::uint64_t kScopeSignals = 1U << 1U;

std::uint64_t all_rights(int version) {
  std::uint64_t rights = (1U << 13U) - 1;               // version 1
  if (version >= 2) rights |= std::uint64_t{1} << 13U;  // move between folders
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceIoctl;
  return rights;
}

Result<void> allow(const Fd& ruleset, const Path& path, std::uint64_t rights) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.is_open()) return {};  // not there: nothing to allow
  struct stat status{};
  if (::fstat(fd.get(), &status) == 0 && !S_ISDIR(status.st_mode)) {
    rights &= kExecute | kWriteFile | kReadFile | kTruncate | kDeviceIoctl;
  }
  const PathRule rule{rights, fd.get()};
  if (::syscall(SYS_landlock_add_rule, ruleset.get(), kPathBeneath, &rule, 0) != 0) {
    return os_error(fmt::format("landlock rule for '{}'", path.string()));
  }
  return {};
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return version < 0 ? 0 : static_cast<int>(version);
}

Result<void> restrict_files(std::span<const Path> read_only, std::span<const Path> writable) {
  const int version = landlock_version();
  if (version == 0) return Error{ErrorKind::Unavailable, "this kernel has no Landlock"};
  const std::uint64_t all = all_rights(version);
  RulesetAttributes attributes;
  attributes.handled_files = all;
  if (version >= 6) attributes.scoped = kScopeAbstractSockets | kScopeSignals;
  const std::size_t size = version >= 6   ? sizeof(attributes)
                           : version >= 4 ? 2 * sizeof(std::uint64_t)
                                          : sizeof(std::uint64_t);
  const Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.is_open()) return os_error("landlock ruleset");
  for (const Path& path : read_only) {
    CUCO_TRY(allow(ruleset, path, (kExecute | kReadFile | kReadFolder) & all));
  }
  for (const Path& path : writable)
    CUCO_TRY(allow(ruleset, path, all));
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return os_error("landlock restrict");
  }
  return {};
}

}  // namespace cuco::system::jail
