// SPDX-License-Identifier: Apache-2.0
/// \file
/// Large arrays that are touched all over: with huge pages the host finds them without a page walk.
#pragma once

#include <cstddef>
#include <new>

#include "system/memory/fixed_memory.h"

namespace cuco::vgpu {

/// Aligned to a cache line; from 2 MiB on to a huge page, which the kernel is asked for.
template <typename T>
struct HugePageAllocator {
  using value_type = T;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20U;

  HugePageAllocator() = default;
  template <typename U>
  explicit HugePageAllocator(const HugePageAllocator<U>& /*other*/) {}
  static std::align_val_t alignment(std::size_t n) {
    return std::align_val_t{n * sizeof(T) >= kHugePage ? kHugePage : 64};
  }
  T* allocate(std::size_t n) {
    void* memory = ::operator new(n * sizeof(T), alignment(n));
    if (n * sizeof(T) >= kHugePage) system::ask_for_huge_pages(memory, n * sizeof(T));
    return static_cast<T*>(memory);
  }
  void deallocate(T* p, std::size_t n) { ::operator delete(p, alignment(n)); }
  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
};

}  // namespace cuco::vgpu
