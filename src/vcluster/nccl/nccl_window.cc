// SPDX-License-Identifier: Apache-2.0
#include "vcluster/nccl/nccl_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace cuco::vcluster {

namespace abi = nccl_core::abi_2_28;
using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;
using vgpu::Address;

namespace {

constexpr std::uint32_t kStride4G = static_cast<std::uint32_t>(vgpu::kFlatStride >> 32U);

// Every rank of a load/store team sees the copies of all of them at a fixed stride, as NCCL lays
// them out on NVLink: lsa_flat_base + rank * stride. So a window takes the same offset in the slot
// of each rank, and the slots are views (Memory::alias) of what the ranks allocated.

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + vgpu::kGranule - 1) / vgpu::kGranule * vgpu::kGranule;
}

Address slot_address(int rank, std::uint64_t offset) {
  return vgpu::kFlatBase + static_cast<std::uint64_t>(rank) * vgpu::kFlatStride + offset;
}

template <typename T>
void store(Address address, const T& value) {
  std::memcpy(vgpu::Memory::at(address), &value, sizeof value);
}

}  // namespace

// First fit: deterministic, and there are few windows.
std::optional<std::uint64_t> FlatSpace::allocate(std::uint64_t bytes) {
  std::uint64_t offset = 0;
  for (const auto& [start, size] : used_) {
    if (start - offset >= bytes) break;
    offset = start + size;
  }
  if (offset + bytes > vgpu::kFlatStride) return std::nullopt;
  used_[offset] = bytes;
  return offset;
}

void FlatSpace::free(std::uint64_t offset) {
  used_.erase(offset);
}

Result<Address> WindowRegistry::allocate(unsigned device, std::uint64_t bytes) {
  const std::uint64_t rounded = whole_pages(bytes);
  CUCO_TRY_ASSIGN(const Address address, memory_.allocate(device, rounded, vgpu::kGranule));
  allocations_[address] = rounded;
  return address;
}

bool WindowRegistry::free(Address address) {
  if (allocations_.erase(address) == 0) return false;
  return memory_.free(address).has_value();
}

// Ranks address each other's copies by their own offsets, so that all copies must be alike.
Check WindowRegistry::check(const Clique& clique,
                            const std::vector<WindowRequest>& requests) const {
  std::uint64_t first_offset = 0;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    const WindowRequest& request = requests[static_cast<std::size_t>(rank)];
    auto above = allocations_.upper_bound(request.address);
    const bool known = above != allocations_.begin() &&
                       request.address - std::prev(above)->first < std::prev(above)->second;
    if (!known) {
      return Problem{Code::UnhandledCudaError,
                     fmt::format("ncclCommWindowRegister: rank {}: {:#x} is not memory from "
                                 "ncclMemAlloc; only such memory can become a window",
                                 rank, request.address)};
    }
    const auto& [base, size] = *std::prev(above);
    const std::uint64_t offset = request.address - base;
    if (offset % abi::kWindowAlignment != 0) {
      return Problem{Code::InvalidArgument,
                     fmt::format("ncclCommWindowRegister: rank {}: the window starts {} bytes into "
                                 "its allocation; that must be a multiple of {}",
                                 rank, offset, abi::kWindowAlignment)};
    }
    if (request.bytes > size - offset) {
      return Problem{Code::InvalidArgument,
                     fmt::format("ncclCommWindowRegister: rank {}: {} bytes go past the end of the "
                                 "allocation, which has {} left",
                                 rank, request.bytes, size - offset)};
    }
    if (memory_.granule(base).owner != clique.device_of(rank)) {
      return Problem{
          Code::InvalidArgument,
          fmt::format("ncclCommWindowRegister: rank {} uses device {}, but the memory is "
                      "on device {}; call cudaSetDevice before ncclMemAlloc",
                      rank, clique.device_of(rank), memory_.granule(base).owner)};
    }
    if (rank == 0) first_offset = offset;
    if (request.bytes != requests.front().bytes || offset != first_offset) {
      return Problem{
          Code::InvalidArgument,
          fmt::format("ncclCommWindowRegister: the window is not symmetric: rank 0 has {} "
                      "bytes at offset {}, rank {} has {} bytes at offset {}",
                      requests.front().bytes, first_offset, rank, request.bytes, offset)};
    }
  }
  return std::nullopt;
}

WindowRegistry::Registered WindowRegistry::add(Clique& clique,
                                               const std::vector<WindowRequest>& requests) {
  if (Check wrong = check(clique, requests)) return {nullptr, wrong};
  auto window = std::make_unique<NcclWindowSet>();
  window->number = next_number_++;
  window->clique = &clique;
  window->bytes = requests.front().bytes;
  for (const WindowRequest& request : requests) {
    const Address base = std::prev(allocations_.upper_bound(request.address))->first;
    window->offset_in_pages = request.address - base;
    window->copies.push_back(
        {request.address, base, whole_pages(window->offset_in_pages + request.bytes), 0});
  }
  Result<void> mapped = map(*window);
  if (mapped) mapped = write_descriptions(*window);
  if (!mapped) {
    const std::string why = mapped.error().message();
    unmap(*window);
    return {nullptr, Problem{Code::SystemError, "ncclCommWindowRegister: " + why}};
  }
  NcclWindowSet* added = window.get();
  windows_[added->number] = std::move(window);
  refresh_tables(clique);
  return {added, std::nullopt};
}

Result<void> WindowRegistry::map(NcclWindowSet& window) {
  const Clique& clique = *window.clique;
  const std::uint64_t bytes = window.copies.front().mapped_bytes;
  for (int start = 0; start < clique.ranks(); start += clique.lsa_size) {
    const std::optional<std::uint64_t> offset = flat_.allocate(bytes);
    if (!offset) {
      return Error{ErrorKind::Unavailable,
                   "the flat address space is full: 64 GiB of windows per rank are registered"};
    }
    window.team_offsets.push_back(*offset);
    std::vector<Address> members;
    for (int rank = start; rank < start + clique.lsa_size; ++rank) {
      const WindowCopy& copy = window.copies[static_cast<std::size_t>(rank)];
      CUCO_TRY(memory_.alias(slot_address(rank, *offset), copy.mapped, bytes));
      members.push_back(copy.mapped);
    }
    Address multicast = 0;
    if (topology_.multicast && clique.lsa_size > 1) {
      CUCO_TRY_ASSIGN(multicast, memory_.add_multicast(bytes, std::move(members)));
    }
    window.team_multicast.push_back(multicast);
  }
  return {};
}

Result<void> WindowRegistry::write_descriptions(NcclWindowSet& window) {
  const Clique& clique = *window.clique;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    WindowCopy& copy = window.copies[static_cast<std::size_t>(rank)];
    CUCO_TRY_ASSIGN(
        copy.description,
        memory_.allocate(static_cast<unsigned>(clique.device_of(rank)), sizeof(abi::Window)));
    store(copy.description, describe(window, rank));
  }
  return {};
}

abi::Window WindowRegistry::describe(const NcclWindowSet& window, int rank) const {
  const Clique& clique = *window.clique;
  const auto team = static_cast<std::size_t>(rank / clique.lsa_size);
  abi::Window result{};
  result.win_host = window.number;
  result.lsa_flat_base =
      slot_address(clique.team_start(rank), window.team_offsets[team]) + window.offset_in_pages;
  result.lsa_rank = rank % clique.lsa_size;
  result.world_rank = rank;
  result.stride_4g = kStride4G;
  if (window.team_multicast[team] != 0) {
    const std::uint64_t offset =
        window.team_multicast[team] - multicast_base() + window.offset_in_pages;
    result.mc_offset_4k = static_cast<std::uint32_t>(offset >> 12U);
  }
  for (Address& handle : result.gin_wins)
    handle = window.number;
  return result;
}

void WindowRegistry::unmap(NcclWindowSet& window) {
  const Clique& clique = *window.clique;
  const std::uint64_t bytes = window.copies.front().mapped_bytes;
  for (std::size_t team = 0; team < window.team_offsets.size(); ++team) {
    for (int i = 0; i < clique.lsa_size; ++i) {
      const int rank = static_cast<int>(team) * clique.lsa_size + i;
      // A failure means that it was not mapped, because registration stopped half-way.
      (void)memory_.unalias(slot_address(rank, window.team_offsets[team]), bytes);
    }
    flat_.free(window.team_offsets[team]);
    if (team < window.team_multicast.size() && window.team_multicast[team] != 0) {
      (void)memory_.remove_multicast(window.team_multicast[team]);
    }
  }
  for (const WindowCopy& copy : window.copies) {
    if (copy.description != 0) (void)memory_.free(copy.description);
  }
}

std::optional<WindowRequest> WindowRegistry::range_of(const Clique& clique,
                                                      int rank,
                                                      Address description) {
  const NcclWindowSet* window = find_by_description(clique, rank, description);
  if (window == nullptr) return std::nullopt;
  return WindowRequest{window->copies[static_cast<std::size_t>(rank)].address, window->bytes};
}

bool WindowRegistry::holds(const Clique& clique,
                           int rank,
                           Address address,
                           std::uint64_t bytes) const {
  return std::any_of(windows_.begin(), windows_.end(), [&](const auto& entry) {
    const NcclWindowSet& window = *entry.second;
    if (window.clique != &clique) return false;
    const Address base = window.copies[static_cast<std::size_t>(rank)].address;
    return address >= base && bytes <= window.bytes && address - base <= window.bytes - bytes;
  });
}

bool WindowRegistry::release(const Clique& clique, int rank, Address description) {
  NcclWindowSet* window = find_by_description(clique, rank, description);
  if (window == nullptr) return false;
  if (!std::exchange(window->copies[static_cast<std::size_t>(rank)].is_registered, false))
    return false;
  if (std::ranges::any_of(window->copies, &WindowCopy::is_registered)) return true;
  unmap(*window);
  windows_.erase(window->number);
  refresh_tables(clique);
  return true;
}

NcclWindowSet* WindowRegistry::find(std::uint64_t number) {
  const auto found = windows_.find(number);
  return found == windows_.end() ? nullptr : found->second.get();
}

NcclWindowSet* WindowRegistry::find_by_description(const Clique& clique,
                                                   int rank,
                                                   Address description) {
  for (const auto& [number, window] : windows_) {
    if (window->clique == &clique &&
        window->copies[static_cast<std::size_t>(rank)].description == description) {
      return window.get();
    }
  }
  return nullptr;
}

Result<Address> WindowRegistry::table(Clique& clique, int rank) {
  auto& pages = tables_[{clique.number, rank}];
  if (pages.empty()) {
    CUCO_TRY_ASSIGN(
        const Address page,
        memory_.allocate(static_cast<unsigned>(clique.device_of(rank)), sizeof(abi::WindowTable)));
    pages.push_back(page);
    refresh_tables(clique);
  }
  return pages.front();
}

// ncclFindWindow walks these tables in device memory: pages of entries, linked by `next`.
void WindowRegistry::refresh_tables(const Clique& clique) {
  constexpr std::size_t kEntries = std::size(abi::WindowTable{}.entries);
  for (auto& [owner, pages] : tables_) {
    if (owner.first != clique.number) continue;
    const auto rank = static_cast<std::size_t>(owner.second);
    std::vector<abi::WindowTable> contents(1);
    std::size_t filled = 0;
    for (const auto& [number, window] : windows_) {
      if (window->clique != &clique) continue;
      if (filled == kEntries) {
        contents.emplace_back();
        filled = 0;
      }
      const WindowCopy& copy = window->copies[rank];
      contents.back().entries[filled++] = {copy.address, window->bytes, copy.description};
    }
    while (pages.size() < contents.size()) {
      const Result<Address> page = memory_.allocate(
          static_cast<unsigned>(clique.device_of(owner.second)), sizeof(abi::WindowTable));
      if (!page) return;  // The table stays as it was: only ncclFindWindow would miss a window.
      pages.push_back(*page);
    }
    for (std::size_t i = 0; i < contents.size(); ++i) {
      contents[i].next = i + 1 < contents.size() ? pages[i + 1] : 0;
      store(pages[i], contents[i]);
    }
  }
}

std::optional<std::string> WindowRegistry::explain(Address address, int device) const {
  if (address < vgpu::kFlatBase || address >= vgpu::kMulticastBase) return std::nullopt;
  const auto slot = static_cast<int>((address - vgpu::kFlatBase) / vgpu::kFlatStride);
  const std::uint64_t offset = (address - vgpu::kFlatBase) % vgpu::kFlatStride;
  for (const auto& [number, window] : windows_) {
    const Clique& clique = *window->clique;
    for (std::size_t team = 0; team < window->team_offsets.size(); ++team) {
      const std::uint64_t start = window->team_offsets[team];
      if (offset < start || offset - start >= window->copies.front().mapped_bytes) continue;
      const int first = static_cast<int>(team) * clique.lsa_size;
      const std::vector<int> devices = clique.devices();
      const auto mine = std::find(devices.begin(), devices.end(), device) - devices.begin();
      return fmt::format(
          "rank {} used a load/store pointer into rank {}'s copy of a window of {}, but its "
          "load/store team is ranks {} to {}; reach rank {} with GIN",
          mine, slot, clique.name(), first, first + clique.lsa_size - 1, slot);
    }
  }
  return std::nullopt;
}

}  // namespace cuco::vcluster
