// SPDX-License-Identifier: Apache-2.0
#include "system/os/private_file.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "system/os/os_error.h"

namespace cuco::system {
namespace {

Error refused(const Path& path, std::string_view why, std::string_view cure) {
  return {ErrorKind::InvalidInput,
          fmt::format("'{}' {}; {} '{}'", path.string(), why, cure, path.string())};
}

}  // namespace

Result<std::string> read_private_file(const Path& path, std::size_t limit) {
  // Asked of the open file: nobody can put another one in its place in between.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return os_error("open '" + path.string() + "'");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return os_error("stat '" + path.string() + "'");
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::InvalidInput, fmt::format("'{}' is no file", path.string())};
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return refused(path, "belongs to another user", "chown it to yourself:");
  }
  if ((status.st_mode & 077U) != 0) {
    return refused(path, fmt::format("can be read by others (mode {:o})", status.st_mode & 0777U),
                   "run: chmod 600");
  }
  std::string text(limit + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("read '" + path.string() + "'");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > limit) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("'{}' is longer than {} bytes", path.string(), limit)};
  }
  text.resize(size);
  return text;
}

void forbid_memory_pictures() {
  const rlimit none{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &none);
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace cuco::system
