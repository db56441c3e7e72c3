// SPDX-License-Identifier: Apache-2.0
// A process that is killed cannot remove its folders. So each is locked by its owner, and the next
// process of ours removes those that nobody has locked any more.
#include "system/folders/temp_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "system/os/os_error.h"

namespace cuco::system {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kOurs = "cuco";
constexpr std::string_view kMark = ".own-";
constexpr std::time_t kYoungSeconds = 60;

struct Locks {
  std::mutex mutex;
  std::map<std::string, Fd> held;
};

Locks& locks() {
  static auto* const kLocks =
      new Locks;  // Never destroyed: folders are removed until the very end.
  return *kLocks;
}

Fd locked(const Path& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.is_open() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return Fd();
}

void own(const Path& folder) {
  Fd lock = locked(folder);
  const std::lock_guard guard(locks().mutex);
  locks().held.insert_or_assign(folder.string(), std::move(lock));
}

void disown(const Path& folder) {
  const std::lock_guard guard(locks().mutex);
  locks().held.erase(folder.string());
}

bool is_old_and_mine(const Path& folder, std::time_t young_seconds) {
  struct stat info{};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid() && info.st_ctime < std::time(nullptr) - young_seconds;
}

}  // namespace

void remove_abandoned_folders(const Path& where, std::time_t young_seconds) {
  std::error_code ignored;
  for (fs::directory_iterator at(where, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kOurs) || name.find(kMark) == std::string::npos) continue;
    if (!is_old_and_mine(at->path(), young_seconds)) continue;
    if (const Fd lock = locked(at->path()); lock.is_open()) {
      std::error_code failed;
      fs::remove_all(at->path(), failed);
    }
  }
}

Result<TempFolder> TempFolder::create(std::string_view prefix, const Path& parent) {
  Path where = parent;
  if (where.empty()) {
    const char* tmpdir = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): read only
    where = tmpdir != nullptr && *tmpdir != '\0' ? tmpdir : "/tmp";
    static std::once_flag once;
    std::call_once(once, [&] { remove_abandoned_folders(where, kYoungSeconds); });
  }
  std::string pattern = (where / fmt::format("{}{}XXXXXX", prefix, kMark)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return os_error(fmt::format("make folder in '{}'", where.string()));
  }
  own(pattern);
  return TempFolder(Path(pattern));
}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (path_.empty()) return;
  fs::remove_all(path_, ignored);
  disown(path_);
}

Path TempFolder::keep() {
  Path kept = std::move(path_);
  path_.clear();
  disown(kept);
  return kept;
}

}  // namespace cuco::system
