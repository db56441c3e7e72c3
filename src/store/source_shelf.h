// SPDX-License-Identifier: Apache-2.0
/// \file
/// SourceShelf: the texts of a run's sources, read from its file when somebody asks for them. A run
/// of fifty thousand candidates looks at a few of them at a time.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "program/source.h"
#include "system/os/files.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cuco::store {

/// Path and the hash of the text, in the order of the source's files.
using FileHashes = std::vector<std::pair<std::string, std::string>>;

/// Shared by the sources that it has given out: it may outlive the store. Its functions may be
/// called from several threads at once.
class SourceShelf : public std::enable_shared_from_this<SourceShelf> {
 public:
  /// Of texts that were read or written last so many bytes stay in memory.
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20U;

  /// A connection of its own, beside the writer's.
  [[nodiscard]] static Result<std::shared_ptr<SourceShelf>> open(const system::Path& file,
                                                                 std::size_t most_bytes);
  SourceShelf(const SourceShelf&) = delete;
  SourceShelf& operator=(const SourceShelf&) = delete;
  ~SourceShelf();

  /// A source whose texts stay here. There must be at least one file.
  [[nodiscard]] program::Source source(FileHashes files);
  /// The same, with texts that somebody will soon ask for.
  [[nodiscard]] program::Source source(FileHashes files, program::Files texts);

  /// Texts that cannot be read are empty. Whoever writes looks here first: what was made of them
  /// must not be kept.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Bytes of texts in memory, and how often the file was read.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t reads() const;

 private:
  class Stored;
  struct Kept {
    std::string key;
    program::Files files;
    std::size_t bytes = 0;
  };

  SourceShelf() = default;
  [[nodiscard]] program::Files read(const FileHashes& files);
  [[nodiscard]] std::string text_of(const std::string& hash);
  void keep(std::string key, program::Files files);

  mutable std::mutex mutex_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* query_ = nullptr;
  std::optional<Error> failure_;
  std::size_t most_bytes_ = kMostBytes;
  std::size_t bytes_ = 0;
  std::size_t reads_ = 0;
  std::list<Kept> kept_;  ///< The one that was asked for last comes first.
  std::unordered_map<std::string, std::list<Kept>::iterator> by_key_;
};

}  // namespace cuco::store
