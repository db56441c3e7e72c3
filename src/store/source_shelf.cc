// SPDX-License-Identifier: Apache-2.0
#include "store/source_shelf.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/sqlite_rows.h"

namespace cuco::store {
namespace {

std::string key_of(const FileHashes& files) {
  std::string key;
  for (const auto& [path, hash] : files)
    key += path + '\n' + hash + '\n';
  return key;
}

}  // namespace

class SourceShelf::Stored final : public program::StoredFiles {
 public:
  Stored(std::shared_ptr<SourceShelf> shelf, FileHashes files)
      : shelf_(std::move(shelf)), files_(std::move(files)) {
    files_.shrink_to_fit();
  }
  [[nodiscard]] program::Files read() const override { return shelf_->read(files_); }

 private:
  std::shared_ptr<SourceShelf> shelf_;
  FileHashes files_;
};

Result<std::shared_ptr<SourceShelf>> SourceShelf::open(const system::Path& file,
                                                       std::size_t most_bytes) {
  std::shared_ptr<SourceShelf> shelf(new SourceShelf());
  shelf->most_bytes_ = most_bytes;
  const bool ready =
      sqlite3_open_v2(file.c_str(), &shelf->database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                      nullptr) == SQLITE_OK &&
      sqlite3_busy_timeout(shelf->database_, kBusyMilliseconds) == SQLITE_OK &&
      sqlite3_prepare_v3(shelf->database_, "SELECT text FROM sources WHERE hash = ?", -1,
                         SQLITE_PREPARE_PERSISTENT, &shelf->query_, nullptr) == SQLITE_OK;
  if (ready) return shelf;
  const char* why =
      shelf->database_ == nullptr ? "out of memory" : sqlite3_errmsg(shelf->database_);
  return Error{ErrorKind::Io, fmt::format("store: sources of '{}': {}", file.string(), why)};
}

SourceShelf::~SourceShelf() {
  sqlite3_finalize(query_);
  sqlite3_close(database_);
}

program::Source SourceShelf::source(FileHashes files) {
  return program::Source(std::make_shared<Stored>(shared_from_this(), std::move(files)));
}

program::Source SourceShelf::source(FileHashes files, program::Files texts) {
  {
    const std::lock_guard lock(mutex_);
    keep(key_of(files), std::move(texts));
  }
  return source(std::move(files));
}

std::optional<Error> SourceShelf::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::size_t SourceShelf::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t SourceShelf::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

program::Files SourceShelf::read(const FileHashes& files) {
  const std::lock_guard lock(mutex_);
  std::string key = key_of(files);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    kept_.splice(kept_.begin(), kept_, known->second);
    return kept_.front().files;
  }
  std::vector<program::File> texts;
  for (const auto& [path, hash] : files)
    texts.push_back({path, text_of(hash)});
  program::Files read(std::make_shared<const std::vector<program::File>>(std::move(texts)));
  if (!failure_) keep(std::move(key), read);
  return read;
}

std::string SourceShelf::text_of(const std::string& hash) {
  ++reads_;
  sqlite3_bind_text64(query_, 1, hash.data(), hash.size(), SQLITE_STATIC, SQLITE_UTF8);
  const int status = sqlite3_step(query_);
  std::string text = status == SQLITE_ROW ? std::string(text_column(query_, 0)) : std::string();
  if (status != SQLITE_ROW && !failure_) {
    failure_ = Error{ErrorKind::Io, fmt::format("store: source {} cannot be read: {}", hash,
                                                status == SQLITE_DONE ? "it is missing"
                                                                      : sqlite3_errmsg(database_))};
  }
  sqlite3_reset(query_);
  sqlite3_clear_bindings(query_);
  return text;
}

void SourceShelf::keep(std::string key, program::Files files) {
  if (by_key_.contains(key)) return;
  Kept kept{.key = std::move(key), .files = std::move(files)};
  for (const program::File& file : kept.files)
    kept.bytes += file.text.size();
  bytes_ += kept.bytes;
  kept_.push_front(std::move(kept));
  by_key_.emplace(kept_.front().key, kept_.begin());
  while (bytes_ > most_bytes_ && kept_.size() > 1) {
    bytes_ -= kept_.back().bytes;
    by_key_.erase(kept_.back().key);
    kept_.pop_back();
  }
}

}  // namespace cuco::store
