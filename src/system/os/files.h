// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files and folders: whole-file reads, atomic writes, walks, and folders that vanish.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "system/os/fd.h"

namespace cuco::system {

using Path = std::filesystem::path;

/// The most that read_file() reads by default.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30U;

/// Reads the whole file; InvalidInput if longer than `limit`, or a device. A pipe needs a writer.
[[nodiscard]] Result<std::string> read_file(const Path& path, std::size_t limit = kMaxFileBytes);

/// Writes beside the target, syncs, renames over it and syncs the folder: after a crash there is
/// either the old file or the new one, whole. Devices and pipes are written into.
[[nodiscard]] Result<void> write_file(const Path& path, std::string_view bytes, int mode = 0644);

/// Adds to the end of the file, made if it is not there, and syncs: what was added survives a
/// crash.
[[nodiscard]] Result<void> append_to_file(const Path& path, std::string_view bytes);

/// Locks the file, made if it is not there, for as long as the descriptor lives; Unavailable if
/// another process has it locked.
[[nodiscard]] Result<Fd> lock_file(const Path& path);

/// Creates the folder and its parents; an existing folder is no error.
[[nodiscard]] Result<void> make_folder(const Path& path);

/// Removes the file or folder with everything below; absent is no error. Links are not followed.
[[nodiscard]] Result<void> remove_all(const Path& path);

/// All regular files below `root`, relative to it, in sorted order. Links are not followed.
[[nodiscard]] Result<std::vector<Path>> walk(const Path& root);

/// The first executable file of that name along `search_path` ("a:b:c"); NotFound otherwise.
[[nodiscard]] Result<Path> find_program(std::string_view name, std::string_view search_path);

/// An own executable that is not for users (cuco-jail, cuco-rank, ...): beside the running program,
/// or in the bin/ or libexec/cuco/ of a folder above it.
[[nodiscard]] Result<Path> find_helper(std::string_view name);

/// A data file or folder of the project ("topology/nvlink4.toml"): below the source tree or
/// installation that the running program belongs to.
[[nodiscard]] Result<Path> find_data(const Path& relative);

/// A new folder, only for this user, that is removed with all its contents on destruction.
class TempFolder {
 public:
  /// Made inside `parent` (default: $TMPDIR or /tmp); its name starts with `prefix`.
  [[nodiscard]] static Result<TempFolder> create(std::string_view prefix = "cuco",
                                                 const Path& parent = {});
  TempFolder(TempFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempFolder& operator=(TempFolder&& other) noexcept;
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  [[nodiscard]] const Path& path() const { return path_; }
  /// Gives the folder up: it stays on disk.
  Path keep();

 private:
  explicit TempFolder(Path path) : path_(std::move(path)) {}
  Path path_;
};

}  // namespace cuco::system
