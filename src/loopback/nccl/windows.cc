// SPDX-License-Identifier: Apache-2.0
#include "loopback/nccl/windows.h"

#include <algorithm>
#include <utility>

#include "loopback/gpu/divided_gpu.h"
#include "loopback/gpu/pages.h"

namespace cuco::loopback {

namespace abi = nccl_core::abi_2_28;
using nccl_core::Check;
using nccl_core::Code;
using nccl_core::Problem;

namespace {

constexpr std::uint64_t kStrideUnit = std::uint64_t{4} << 30U;
constexpr std::uint64_t kPage = std::uint64_t{2} << 20U;

Problem wrong(int rank, const std::string& what) {
  return {Code::InvalidArgument,
          "ncclCommWindowRegister: rank " + std::to_string(rank) + ": " + what};
}

}  // namespace

Windows& Windows::get() {
  static Windows& windows = *new Windows;
  return windows;
}

Check Windows::check(const Clique& clique, const std::vector<WindowRequest>& requests) {
  std::uint64_t first_offset = 0;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    const WindowRequest& request = requests[static_cast<std::size_t>(rank)];
    const auto found = Memory::get().find(request.address);
    if (!found || !found->can_be_window) {
      Problem problem = wrong(rank,
                              "this is not memory from ncclMemAlloc; only such memory can "
                              "become a window");
      problem.code = Code::UnhandledCudaError;
      return problem;
    }
    const std::uint64_t offset = request.address - found->base;
    if (offset % abi::kWindowAlignment != 0) {
      return wrong(rank, "the window starts " + std::to_string(offset) +
                             " bytes into its allocation; that must be a multiple of " +
                             std::to_string(abi::kWindowAlignment));
    }
    if (request.bytes > found->bytes - offset)
      return wrong(rank,
                   std::to_string(request.bytes) + " bytes go past the end of the allocation");
    if (found->rank != clique.devices[static_cast<std::size_t>(rank)]) {
      return wrong(rank, "the memory is on device " + std::to_string(found->rank) +
                             "; call cudaSetDevice before ncclMemAlloc");
    }
    if (rank == 0) first_offset = offset;
    if (request.bytes != requests.front().bytes || offset != first_offset) {
      return wrong(rank, "the window is not symmetric: " + std::to_string(request.bytes) +
                             " bytes at offset " + std::to_string(offset) + ", rank 0 has " +
                             std::to_string(requests.front().bytes) + " at offset " +
                             std::to_string(first_offset));
    }
  }
  return std::nullopt;
}

Check Windows::map(Window& window, const std::vector<WindowRequest>& requests) {
  const auto failed = [](CUresult result) {
    return Problem{Code::SystemError,
                   std::string("ncclCommWindowRegister: mapping the windows: ") + text_of(result)};
  };
  const Allocation first = *Memory::get().find(requests.front().address);
  const std::uint64_t offset = requests.front().address - first.base;
  window.mapped = (offset + window.bytes + kPage - 1) / kPage * kPage;
  window.stride = (window.mapped + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
  const WindowPlaces places = window.places();
  Pages& pages = Pages::get();
  CUresult result = pages.reserve(&window.flat, places.bytes(), kStrideUnit);
  if (result != CUDA_SUCCESS) return failed(result);
  for (std::size_t rank = 0; rank < requests.size(); ++rank) {
    const Allocation own = *Memory::get().find(requests[rank].address);
    const CUdeviceptr at = window.flat + places.of(static_cast<int>(rank));
    result = pages.map(at, std::min(window.mapped, own.bytes), own.handle);
    if (result != CUDA_SUCCESS) return failed(result);
    window.addresses.push_back(at + offset);
    window.registered.push_back(requests[rank].address);
  }
  return std::nullopt;
}

void Windows::describe(Window& window) {
  const Clique& clique = *window.clique;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    const int team = rank / clique.lsa_size * clique.lsa_size;
    abi::Window content{};
    content.win_host = window.number;
    content.lsa_flat_base = window.addresses[static_cast<std::size_t>(team)];
    content.lsa_rank = rank % clique.lsa_size;
    content.world_rank = rank;
    content.stride_4g = static_cast<std::uint32_t>(window.stride / kStrideUnit);
    for (Address& handle : content.gin_wins)
      handle = window.number;
    const Address description = Machine::get().device_bytes(sizeof content);
    Machine::get().upload(description, &content, sizeof content);
    window.descriptions.push_back(description);
    window.contents.push_back(content);
  }
}

Windows::Registered Windows::add(const std::shared_ptr<Clique>& clique,
                                 const std::vector<WindowRequest>& requests) {
  if (Check problem = check(*clique, requests)) return {nullptr, problem};
  auto window = std::make_unique<Window>();
  window->clique = clique;
  window->bytes = requests.front().bytes;
  window->users = clique->ranks();
  if (Check problem = map(*window, requests)) return {nullptr, problem};
  const std::lock_guard lock(mutex_);
  window->number = ++last_ % static_cast<std::uint32_t>(kMost);
  if (by_number_[window->number] != nullptr) {
    return {nullptr, Problem{Code::SystemError,
                             "ncclCommWindowRegister: more than 65535 windows are registered"}};
  }
  describe(*window);
  Window* added = window.get();
  by_number_[added->number] = added;
  windows_.push_back(std::move(window));
  for (auto& [key, blocks] : tables_) {
    if (key.first == clique->number) refresh_table(*clique, key.second);
  }
  return {added, std::nullopt};
}

bool Windows::release(const Clique& clique, int rank, Address description) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(windows_.begin(), windows_.end(), [&](const auto& window) {
    return window->clique.get() == &clique &&
           window->descriptions[static_cast<std::size_t>(rank)] == description;
  });
  if (found == windows_.end()) return false;
  if (--(*found)->users > 0) return true;
  by_number_[(*found)->number] = nullptr;
  for (int r = 0; r < clique.ranks(); ++r) {
    Pages::get().unmap((*found)->flat + (*found)->places().of(r), (*found)->mapped);
  }
  Pages::get().give_back((*found)->flat, (*found)->places().bytes());
  windows_.erase(found);
  return true;
}

Window* Windows::find(std::uint64_t number) {
  return number < kMost ? by_number_[number].load(std::memory_order_acquire) : nullptr;
}

Address Windows::table(const Clique& clique, int rank) {
  const std::lock_guard lock(mutex_);
  std::vector<Address>& blocks = tables_[{clique.number, rank}];
  if (blocks.empty()) blocks.push_back(Machine::get().device_bytes(sizeof(abi::WindowTable)));
  refresh_table(clique, rank);
  return blocks.front();
}

void Windows::refresh_table(const Clique& clique, int rank) {
  std::vector<Address>& blocks = tables_[{clique.number, rank}];
  std::vector<abi::WindowTable> contents(1);
  std::size_t used = 0;
  for (const auto& window : windows_) {
    if (window->clique.get() != &clique) continue;
    if (used == std::size(contents.back().entries)) {
      contents.emplace_back();
      used = 0;
    }
    const auto r = static_cast<std::size_t>(rank);
    contents.back().entries[used++] = {window->registered[r], window->bytes,
                                       window->descriptions[r]};
  }
  while (blocks.size() < contents.size())
    blocks.push_back(Machine::get().device_bytes(sizeof(abi::WindowTable)));
  for (std::size_t i = 0; i < contents.size(); ++i) {
    contents[i].next = i + 1 < contents.size() ? blocks[i + 1] : 0;
    Machine::get().upload(blocks[i], &contents[i], sizeof contents[i]);
  }
}

}  // namespace cuco::loopback
