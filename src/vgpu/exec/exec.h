// SPDX-License-Identifier: Apache-2.0
/// \file
/// How handlers are written: map a scalar function over the active lanes of a warp.
///
/// With all 32 lanes active the loops below become plain vector code; with a partial mask every
/// lane is computed and blended, which is vector code too. So the scalar function must be total:
/// inactive lanes hold anything. What may trap, or touches memory, loops over active lanes instead
/// (for_active).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "vgpu/gpu/warp.h"

namespace cuco::vgpu {

/// Bytes of registers and local memory that nobody has written: no number in any type, and an
/// address of nothing. Zero would be right by luck.
inline constexpr std::byte kNeverWritten{0xFF};

template <typename F>
inline void for_active(std::uint32_t active, F&& f) {
  for (std::uint32_t rest = active; rest != 0; rest &= rest - 1) {
    f(static_cast<unsigned>(std::countr_zero(rest)));
  }
}

namespace detail {

/// Stores f(lane) to the active lanes of d.
template <typename D, typename F>
inline void store_lanes(Slot<D>* d, std::uint32_t active, F&& f) {
  if (active == kFullMask) {
#pragma GCC ivdep
    for (unsigned l = 0; l < kLanes; ++l)
      d[l] = to_slot<D>(f(l));
  } else {
#pragma GCC ivdep
    for (unsigned l = 0; l < kLanes; ++l) {
      const Slot<D> fresh = to_slot<D>(f(l));
      d[l] = ((active >> l) & 1U) != 0 ? fresh : d[l];
    }
  }
}

}  // namespace detail

/// dst = f(a)
template <typename D, typename A, typename F>
[[gnu::always_inline]] inline void map1(Warp& w, const Op& op, F&& f) {
  const Slot<A>* a = w.slots<A>(op.a);
  detail::store_lanes<D>(w.slots<D>(op.dst), w.active,
                         [&](unsigned l) { return f(from_slot<A>(a[l])); });
}

/// dst = f(a, b)
template <typename D, typename A, typename B, typename F>
[[gnu::always_inline]] inline void map2(Warp& w, const Op& op, F&& f) {
  const Slot<A>* a = w.slots<A>(op.a);
  const Slot<B>* b = w.slots<B>(op.b);
  detail::store_lanes<D>(w.slots<D>(op.dst), w.active,
                         [&](unsigned l) { return f(from_slot<A>(a[l]), from_slot<B>(b[l])); });
}

/// dst = f(a, b, c)
template <typename D, typename A, typename B, typename C, typename F>
[[gnu::always_inline]] inline void map3(Warp& w, const Op& op, F&& f) {
  const Slot<A>* a = w.slots<A>(op.a);
  const Slot<B>* b = w.slots<B>(op.b);
  const Slot<C>* c = w.slots<C>(op.c);
  detail::store_lanes<D>(w.slots<D>(op.dst), w.active, [&](unsigned l) {
    return f(from_slot<A>(a[l]), from_slot<B>(b[l]), from_slot<C>(c[l]));
  });
}

/// Mask of lanes for which f(a, b) holds; all 32 are computed.
template <typename T, typename F>
[[nodiscard]] inline std::uint32_t compare(const Warp& w, const Op& op, F&& f) {
  const Slot<T>* a = w.slots<T>(op.a);
  const Slot<T>* b = w.slots<T>(op.b);
  std::uint32_t mask = 0;
#pragma GCC ivdep
  for (unsigned l = 0; l < kLanes; ++l) {
    mask |= static_cast<std::uint32_t>(f(from_slot<T>(a[l]), from_slot<T>(b[l])) ? 1U : 0U) << l;
  }
  return mask;
}

/// A handler made of a stateless function object: lane_map2<float, float, float, AddF32>.
template <typename D, typename A, typename F>
void lane_map1(Warp& w, const Op& op) {
  map1<D, A>(w, op, F{});
}
template <typename D, typename A, typename B, typename F>
void lane_map2(Warp& w, const Op& op) {
  map2<D, A, B>(w, op, F{});
}
template <typename D, typename A, typename B, typename C, typename F>
void lane_map3(Warp& w, const Op& op) {
  map3<D, A, B, C>(w, op, F{});
}

}  // namespace cuco::vgpu
