// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/copy_log.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include <fmt/format.h>

#include "system/os/open_file.h"
#include "system/os/streams.h"

namespace cuco::vcluster {

void CopyDigest::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::uint64_t word = bytes.size();
    const std::size_t part = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), part);
    state_ = (state_ ^ word) * 0xBF58'476D'1CE4'E5B9ULL;
    state_ ^= state_ >> 29U;
    bytes = bytes.subspan(part);
  }
}

Result<std::unique_ptr<CopyLog>> CopyLog::create(const system::Path& path) {
  CUCO_TRY_ASSIGN(system::Fd file, system::open_to_append(path));
  return std::unique_ptr<CopyLog>(new CopyLog(std::move(file)));
}

void CopyLog::add(int device, std::uint64_t bytes, std::uint64_t digest) {
  const std::string line = fmt::format("{} {} {:016x}\n", device, bytes, digest);
  // A full disk shows as a difference between runs: loud enough.
  (void)system::write_all(file_.get(), line).has_value();
}

Result<std::set<LoggedCopy>> read_copy_log(const system::Path& path) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(path));
  std::istringstream in(text);
  std::set<LoggedCopy> copies;
  LoggedCopy copy;
  while (in >> std::dec >> copy.device >> copy.bytes >> std::hex >> copy.digest)
    copies.insert(copy);
  return copies;
}

}  // namespace cuco::vcluster
