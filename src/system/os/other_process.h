// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernel says about other processes. All of it may be out of date when it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cuco::system {

[[nodiscard]] std::vector<std::uint32_t> all_processes();

/// 'R' runs, 'S' sleeps until somebody wakes it, 'D' waits for a disk…; absent: it has gone.
[[nodiscard]] std::optional<char> state_of_thread(std::uint32_t pid, std::uint32_t tid);

/// Its variables as it was started with them, each ended by a zero byte; empty: not for us to see.
[[nodiscard]] std::string environment_of(std::uint32_t pid);

/// Has it mapped a file whose path ends like this?
[[nodiscard]] bool has_mapped(std::uint32_t pid, const std::string& ending);

/// The file that is mapped at an address, and the address's offset in it.
struct MappedFile {
  std::string path;
  std::uint64_t offset = 0;
};
[[nodiscard]] std::optional<MappedFile> file_at(std::uint32_t pid, std::uint64_t address);

}  // namespace cuco::system
