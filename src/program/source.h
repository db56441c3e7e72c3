// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program's source as a value.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cuco::program {

struct File {
  std::string path;  ///< Relative to the program's folder.
  std::string text;
  bool operator==(const File&) const = default;
};

/// The files of a source. Texts that had to be read stay as long as somebody holds this: what is
/// taken out of a temporary is a copy.
class Files {
 public:
  Files() = default;
  explicit Files(std::shared_ptr<const std::vector<File>> list) : list_(std::move(list)) {}

  [[nodiscard]] std::size_t size() const { return list_ == nullptr ? 0 : list_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const File* begin() const { return empty() ? nullptr : list_->data(); }
  [[nodiscard]] const File* end() const { return begin() + size(); }
  [[nodiscard]] const File& operator[](std::size_t index) const& { return (*list_)[index]; }
  [[nodiscard]] File operator[](std::size_t index) && { return (*list_)[index]; }
  [[nodiscard]] const File& front() const& { return list_->front(); }
  [[nodiscard]] File front() && { return list_->front(); }
  [[nodiscard]] std::vector<File> copy() const { return {begin(), end()}; }

  bool operator==(const Files& other) const;

 private:
  friend class Source;
  std::shared_ptr<const std::vector<File>> list_;  ///< Null: no files.
};

/// Files that lie somewhere else until somebody asks for them; there is at least one. Asked from
/// several threads at once.
class StoredFiles {
 public:
  virtual ~StoredFiles() = default;
  [[nodiscard]] virtual Files read() const = 0;
};

/// Immutable, and shared by its copies: a run knows many thousands of sources, and passes them
/// around. Whoever keeps texts elsewhere makes sources of StoredFiles, which take no room.
class Source {
 public:
  Source() = default;
  explicit Source(std::vector<File> files);
  explicit Source(std::shared_ptr<const StoredFiles> stored) : stored_(std::move(stored)) {}

  [[nodiscard]] Files files() const { return stored_ == nullptr ? files_ : stored_->read(); }
  /// Null: there is none of that path.
  [[nodiscard]] std::shared_ptr<const File> find(std::string_view path) const;
  /// Known without reading anything.
  [[nodiscard]] bool empty() const { return stored_ == nullptr && files_.empty(); }

  bool operator==(const Source& other) const;

 private:
  Files files_;
  std::shared_ptr<const StoredFiles> stored_;  ///< Null: they are here.
};

/// A source of one file.
[[nodiscard]] Source single_file(std::string path, std::string text);

}  // namespace cuco::program
