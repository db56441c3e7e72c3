// SPDX-License-Identifier: Apache-2.0
#include "loopback/gpu/rank_memory.h"

#include "loopback/gpu/pages.h"

namespace cuco::loopback {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20U;
constexpr std::uint64_t kSlab = std::uint64_t{32} << 20U;

}  // namespace

Memory& Memory::get() {
  static Memory& memory = *new Memory;  // Programs free memory in destructors of statics.
  return memory;
}

CUresult Memory::make(Allocation* out, std::uint64_t bytes, int rank, bool can_be_window) {
  if (source_ != nullptr) return source_->make(out, bytes, rank, can_be_window);
  Pages& pages = Pages::get();
  out->bytes = (bytes + kPage - 1) / kPage * kPage;
  out->rank = rank;
  out->can_be_window = can_be_window;
  if (const CUresult failed = pages.create(&out->handle, out->bytes, can_be_window);
      failed != CUDA_SUCCESS) {
    return failed;
  }
  CUresult result = pages.reserve(&out->base, out->bytes, kPage);
  if (result == CUDA_SUCCESS) result = pages.map(out->base, out->bytes, out->handle);
  if (result != CUDA_SUCCESS) pages.destroy(out->handle);
  return result;
}

CUresult Memory::allocate_pages(Allocation* out,
                                int rank,
                                std::uint64_t bytes,
                                bool can_be_window) {
  const std::lock_guard lock(mutex_);
  const CUresult result = make(out, bytes, rank, can_be_window);
  if (result == CUDA_SUCCESS) allocations_[out->base] = *out;
  return result;
}

CUresult Memory::allocate(CUdeviceptr* out, int rank, std::uint64_t bytes, bool can_be_window) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) bytes = 1;
  if (bytes <= SizeClasses::kLargest && !can_be_window) {
    SizeClasses& small = small_[rank];
    auto piece = small.take(bytes);
    if (!piece) {
      Allocation slab;
      if (const CUresult failed = make(&slab, kSlab, rank, false); failed != CUDA_SUCCESS)
        return failed;
      allocations_[slab.base] = slab;
      small.add_slab(slab.base, slab.bytes);
      piece = small.take(bytes);
    }
    *out = *piece;
    return CUDA_SUCCESS;
  }
  Allocation made;
  if (const CUresult failed = make(&made, bytes, rank, can_be_window); failed != CUDA_SUCCESS)
    return failed;
  allocations_[made.base] = made;
  *out = made.base;
  return CUDA_SUCCESS;
}

bool Memory::free(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  for (auto& [rank, small] : small_) {
    if (small.give_back(address)) return true;
  }
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  if (source_ != nullptr) {
    source_->free(found->second.base);
  } else {
    Pages& pages = Pages::get();
    pages.unmap(found->second.base, found->second.bytes);
    pages.destroy(found->second.handle);
    pages.give_back(found->second.base, found->second.bytes);
  }
  allocations_.erase(found);
  return true;
}

std::optional<Allocation> Memory::find(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  auto above = allocations_.upper_bound(address);
  if (above == allocations_.begin()) return std::nullopt;
  const Allocation& below = std::prev(above)->second;
  if (address - below.base >= below.bytes) return std::nullopt;
  return below;
}

std::optional<int> Memory::owner_of(CUdeviceptr address) {
  const auto found = find(address);
  if (!found) return std::nullopt;
  return found->rank;
}

void* Memory::take_host(std::uint64_t bytes, unsigned flags) {
  const std::lock_guard lock(mutex_);
  std::vector<void*>& free = host_free_[{bytes, flags}];
  if (free.empty()) return nullptr;
  void* memory = free.back();
  free.pop_back();
  host_used_[memory] = {bytes, flags};
  return memory;
}

void Memory::note_host(void* memory, std::uint64_t bytes, unsigned flags) {
  const std::lock_guard lock(mutex_);
  host_used_[memory] = {bytes, flags};
}

bool Memory::keep_host(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = host_used_.find(memory);
  if (found == host_used_.end()) return false;
  host_free_[{found->second.bytes, found->second.flags}].push_back(memory);
  host_used_.erase(found);
  return true;
}

}  // namespace cuco::loopback
