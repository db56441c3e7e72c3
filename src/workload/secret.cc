// SPDX-License-Identifier: Apache-2.0
#include "workload/secret.h"

#include <cstring>

#include <fmt/format.h>

#include "system/os/kernel.h"

namespace cuco::workload {

Secret Secret::from(std::string_view text, std::uint64_t run_seed) {
  return Secret(sha256(fmt::format("cuco run {} {}", run_seed, text)));
}

Result<Secret> Secret::load(const system::Path& folder, std::uint64_t run_seed) {
  const system::Path file = folder / "secret";
  auto text = system::read_file(file, 4096);
  if (!text && text.error().kind() == ErrorKind::NotFound) {
    CUCO_TRY_ASSIGN(const std::string bytes, system::random_bytes(32));
    CUCO_TRY(system::make_folder(folder));
    CUCO_TRY(system::write_file(file, to_hex(sha256(bytes)), 0600));
    text = system::read_file(file, 4096);  // whoever was first, if two of us were making it
  }
  if (!text) return std::move(text).error().while_doing("read the machine's secret");
  return from(*text, run_seed);
}

std::uint64_t Secret::key(std::string_view purpose) const {
  std::string text = to_hex(root_);
  text += purpose;
  const Digest digest = sha256(text);
  std::uint64_t key = 0;
  std::memcpy(&key, digest.data(), sizeof(key));
  return key;
}

}  // namespace cuco::workload
