// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/copy_log.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/hash.h"
#include "system/os/open_file.h"
#include "system/os/streams.h"

namespace cuco::vcluster {
namespace {

constexpr std::int64_t kNotKept = -1;

system::Path contents_of(const system::Path& log) {
  return log.string() + ".contents";
}

/// Programs choose what they copy: the contents of two must not be confused.
std::uint64_t digest_of(std::span<const std::byte> bytes) {
  const Digest digest = sha256(bytes);
  std::uint64_t first = 0;
  std::memcpy(&first, digest.data(), sizeof first);
  return first;
}

}  // namespace

Result<std::unique_ptr<CopyLog>> CopyLog::create(const system::Path& path, std::uint64_t keep) {
  CUCO_TRY_ASSIGN(system::Fd file, system::open_to_append(path));
  system::Fd contents;
  if (keep != 0) {
    CUCO_TRY_ASSIGN(contents, system::open_to_append(contents_of(path)));
  }
  return std::unique_ptr<CopyLog>(new CopyLog(std::move(file), std::move(contents), keep));
}

std::optional<std::uint64_t> CopyLog::keep(const LoggedCopy& copy,
                                           std::span<const std::byte> bytes) {
  const std::pair key(copy.bytes, copy.digest);
  if (const auto known = offsets_.find(key); known != offsets_.end()) return known->second;
  if (bytes.size() > keep_ - kept_) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!system::write_all(contents_.get(), text)) {
    keep_ = kept_;  // The disk is full: from here on there are digests only.
    return std::nullopt;
  }
  offsets_[key] = kept_;
  kept_ += bytes.size();
  return offsets_[key];
}

void CopyLog::add(CopyEntry entry, std::span<const std::byte> bytes) {
  entry.copy.bytes = bytes.size();
  entry.copy.digest = digest_of(bytes);
  const auto offset = keep(entry.copy, bytes);
  const std::string line =
      fmt::format("{} {} {:016x} {} {} {} {} {}\n", entry.copy.device, entry.copy.bytes,
                  entry.copy.digest, entry.call, entry.thread, static_cast<unsigned>(entry.written),
                  static_cast<unsigned>(entry.anywhere),
                  offset ? static_cast<std::int64_t>(*offset) : kNotKept);
  // A full disk shows as a difference between runs: loud enough.
  (void)system::write_all(file_.get(), line).has_value();
}

Result<std::vector<CopyEntry>> read_copy_log(const system::Path& path) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(path));
  std::istringstream in(text);
  std::vector<CopyEntry> entries;
  CopyEntry entry;
  unsigned written = 0;
  unsigned anywhere = 0;
  std::int64_t offset = kNotKept;
  while (in >> std::dec >> entry.copy.device >> entry.copy.bytes >> std::hex >> entry.copy.digest >>
         std::dec >> entry.call >> entry.thread >> written >> anywhere >> offset) {
    entry.written = static_cast<WrittenAs>(written);
    entry.anywhere = static_cast<WrittenAs>(anywhere);
    entry.offset.reset();
    if (offset != kNotKept) entry.offset = static_cast<std::uint64_t>(offset);
    entries.push_back(entry);
  }
  std::ranges::stable_sort(entries, {}, &CopyEntry::call);
  return entries;
}

std::set<LoggedCopy> without_order(std::span<const CopyEntry> entries) {
  std::set<LoggedCopy> copies;
  for (const CopyEntry& entry : entries)
    copies.insert(entry.copy);
  return copies;
}

Result<CopyContents> CopyContents::open(const system::Path& log) {
  CUCO_TRY_ASSIGN(system::Fd file, system::open_to_read(contents_of(log)));
  return CopyContents(std::move(file));
}

Result<std::vector<std::byte>> CopyContents::read(const CopyEntry& entry) const {
  CUCO_ASSERT(entry.offset);
  std::vector<std::byte> bytes(entry.copy.bytes);
  CUCO_TRY(system::read_exactly_at(file_.get(), *entry.offset, bytes));
  return bytes;
}

}  // namespace cuco::vcluster
