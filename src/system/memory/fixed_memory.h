// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory at addresses that the caller chooses, backed by files that other processes can map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "system/os/fd.h"

namespace cuco::system {

/// An anonymous file of that size, zero-filled and sparse. It cannot be sealed: whoever gets a copy
/// cannot take the writer's access away.
[[nodiscard]] Result<Fd> create_memory_file(const std::string& name, std::uint64_t bytes);

/// Gives the pages of a range of the file back; it reads as zero from then on.
void discard(int file, std::uint64_t offset, std::uint64_t bytes);

enum class AtAddress {
  MustBeFree,  ///< An error if something is mapped there.
  Replace,     ///< Takes the place of whatever is mapped there.
};
/// Maps a range of the file, to read and write, at the address; no room is set aside for it.
[[nodiscard]] Result<void> map_at(
    void* address, std::uint64_t bytes, int file, std::uint64_t offset, AtAddress how);
void unmap(void* address, std::uint64_t bytes);

/// Zero-filled memory of this process that takes room only where it is touched; see unmap.
[[nodiscard]] Result<void*> map_zeroed(std::uint64_t bytes);

/// A wish: without huge pages it is slower, not wrong.
void ask_for_huge_pages(void* address, std::size_t bytes);

}  // namespace cuco::system
