// SPDX-License-Identifier: Apache-2.0
/// \file
/// Byte storage aligned to a cache line, so that vector loops over it are aligned.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace cuco {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlign{64};
  CacheLineAllocator() = default;
  template <typename U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlign)); }
  void deallocate(T* p, std::size_t /*n*/) { ::operator delete(p, kAlign); }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
};

using AlignedBytes = std::vector<std::byte, CacheLineAllocator<std::byte>>;

}  // namespace cuco
