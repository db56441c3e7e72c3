// SPDX-License-Identifier: Apache-2.0
#include "system/os/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"
#include "system/os/os_error.h"
#include "system/os/streams.h"

namespace cuco::system {
namespace fs = std::filesystem;
namespace {

std::string quoted(std::string_view verb, const Path& path) {
  return fmt::format("{} '{}'", verb, path.string());
}

Result<void> sync_folder(const Path& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return os_error(quoted("open", folder));
  // Some file systems cannot sync a folder; they say EINVAL and order renames themselves.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return os_error(quoted("sync", folder));
  return {};
}

/// Removes the temporary of an atomic write that did not get as far as its rename.
class Discard {
 public:
  explicit Discard(const std::string& path) : path_(path) {}
  Discard(const Discard&) = delete;
  Discard& operator=(const Discard&) = delete;
  ~Discard() {
    if (armed_) ::unlink(path_.c_str());
  }
  void disarm() { armed_ = false; }

 private:
  const std::string& path_;
  bool armed_ = true;
};

/// True for what must be written into rather than replaced: devices, pipes, and the names that the
/// system gives to open files (/dev/stdout).
bool is_written_into(const Path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return false;
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return true;
  const std::string& name = path.native();
  if (!name.starts_with("/dev/") && !name.starts_with("/proc/")) return false;
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

Result<void> write_into(const Path& path, std::string_view bytes) {
  // Fails at once on a pipe that nobody reads.
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open() || ::fcntl(fd.get(), F_SETFL, 0) != 0) return os_error(quoted("write", path));
  if (auto written = write_all(fd.get(), bytes); !written) {
    return std::move(written).error().while_doing(quoted("write", path));
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const Path& path, std::size_t limit) {
  // Nothing that is given as a file may keep us waiting: a pipe without a writer is empty.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open()) return os_error(quoted("read", path));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return os_error(quoted("read", path));
  if (S_ISCHR(info.st_mode) && info.st_rdev != makedev(1, 3)) {  // other than /dev/null
    return Error{ErrorKind::InvalidInput, quoted("read", path) + ": it is a device, not a file"};
  }
  if (S_ISREG(info.st_mode) && static_cast<std::size_t>(info.st_size) > limit) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{}: longer than {} bytes", quoted("read", path), limit)};
  }
  // A pipe with a writer (a shell's <(command)) is read to its end.
  if (::fcntl(fd.get(), F_SETFL, 0) != 0) return os_error(quoted("read", path));
  auto bytes = read_to_end(fd.get(), limit);
  if (!bytes) return std::move(bytes).error().while_doing(quoted("read", path));
  return bytes;
}

Result<void> write_file(const Path& path, std::string_view bytes, int mode) {
  if (is_written_into(path)) return write_into(path, bytes);
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  std::string temporary = (folder / fmt::format(".{}.XXXXXX", path.filename().string())).string();
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.is_open()) return os_error(quoted("write", path));
  Discard discard(temporary);
  if (auto written = write_all(fd.get(), bytes); !written) {
    return std::move(written).error().while_doing(quoted("write", path));
  }
  if (::fchmod(fd.get(), static_cast<mode_t>(mode)) != 0 || ::fsync(fd.get()) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    return os_error(quoted("write", path));
  }
  discard.disarm();
  return sync_folder(folder);
}

Result<void> append_to_file(const Path& path, std::string_view bytes) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.is_open()) return os_error(quoted("open", path));
  CUCO_TRY(write_all(fd.get(), bytes));
  if (::fsync(fd.get()) != 0) return os_error(quoted("sync", path));
  return {};
}

Result<Fd> lock_file(const Path& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.is_open()) return os_error(quoted("open", path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorKind::Unavailable, quoted("lock", path) + ": another process has it"};
  }
  return fd;
}

Result<void> make_folder(const Path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return os_error(quoted("make folder", path), code.value());
  return {};
}

Result<void> remove_all(const Path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  if (code) return os_error(quoted("remove", path), code.value());
  return {};
}

Result<std::vector<Path>> walk(const Path& root) {
  std::vector<Path> files;
  std::error_code code;
  fs::recursive_directory_iterator entry(root, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (entry->symlink_status(code).type() == fs::file_type::regular) {
      files.push_back(entry->path().lexically_relative(root));
    }
  }
  if (code) return os_error(quoted("walk", root), code.value());
  std::sort(files.begin(), files.end());
  return files;
}

Result<Path> find_program(std::string_view name, std::string_view search_path) {
  if (name.find('/') != std::string_view::npos) search_path = {};
  for (const std::string_view folder : split(search_path, ':')) {
    const Path path = Path(folder) / name;
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return Error{ErrorKind::NotFound, fmt::format("program not found: {}", name)};
}

Result<Path> find_helper(std::string_view name) {
  std::error_code code;
  Path folder = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (; !code && folder.has_relative_path(); folder = folder.parent_path()) {
    for (const char* place : {".", "bin", "libexec/cuco"}) {
      const Path path = (folder / place / name).lexically_normal();
      if (::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, code)) return path;
    }
  }
  return Error{ErrorKind::NotFound, fmt::format("helper program not found: {}", name)};
}

Result<Path> find_data(const Path& relative) {
  std::error_code code;
  Path folder = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (; !code && folder.has_relative_path(); folder = folder.parent_path()) {
    // An installation's own folder first: its "include" is not /usr/include.
    for (const char* place : {"share/cuco", "."}) {
      const Path path = (folder / place / relative).lexically_normal();
      if (fs::exists(path, code)) return path;
    }
  }
  return Error{ErrorKind::NotFound,
               fmt::format("incomplete installation: {} not found", relative.string())};
}

}  // namespace cuco::system
