// SPDX-License-Identifier: Apache-2.0
/// \file
/// Picks the handler of an operation by PTX type: the table that replaces a switch arm per type.
///
/// An operation is a stateless struct with a templated call operator:
///   struct Add { template <typename T> T operator()(T a, T b) const; };
#pragma once

#include <cstdint>
#include <type_traits>

#include "ptx/vocabulary.h"
#include "vgpu/exec/exec.h"

namespace cuco::vgpu {

template <typename T>
struct TypeTag {
  using Type = T;
};

/// Calls f(TypeTag<T>) with the integer type, bits types as unsigned; null for others.
template <typename F>
Handler with_integer(ptx::Type type, F&& f) {
  switch (type) {
    case ptx::Type::U16:
    case ptx::Type::B16:
      return f(TypeTag<std::uint16_t>{});
    case ptx::Type::S16:
      return f(TypeTag<std::int16_t>{});
    case ptx::Type::U32:
    case ptx::Type::B32:
      return f(TypeTag<std::uint32_t>{});
    case ptx::Type::S32:
      return f(TypeTag<std::int32_t>{});
    case ptx::Type::U64:
    case ptx::Type::B64:
      return f(TypeTag<std::uint64_t>{});
    case ptx::Type::S64:
      return f(TypeTag<std::int64_t>{});
    default:
      return nullptr;
  }
}

template <typename F>
Handler pick_int1(ptx::Type type) {
  return with_integer(type, []<typename T>(TypeTag<T>) -> Handler { return lane_map1<T, T, F>; });
}
template <typename F>
Handler pick_int2(ptx::Type type) {
  return with_integer(type,
                      []<typename T>(TypeTag<T>) -> Handler { return lane_map2<T, T, T, F>; });
}
template <typename F>
Handler pick_int3(ptx::Type type) {
  return with_integer(type,
                      []<typename T>(TypeTag<T>) -> Handler { return lane_map3<T, T, T, T, F>; });
}

/// The next wider integer of the same sign, for mul.wide.
template <typename T>
struct Widened;
template <>
struct Widened<std::uint16_t> {
  using Type = std::uint32_t;
};
template <>
struct Widened<std::int16_t> {
  using Type = std::int32_t;
};
template <>
struct Widened<std::uint32_t> {
  using Type = std::uint64_t;
};
template <>
struct Widened<std::int32_t> {
  using Type = std::int64_t;
};

template <typename T>
using Wide = typename Widened<T>::Type;

constexpr bool is_integer(ptx::Type type) {
  switch (type) {
    case ptx::Type::B16:
    case ptx::Type::B32:
    case ptx::Type::B64:
    case ptx::Type::U16:
    case ptx::Type::U32:
    case ptx::Type::U64:
    case ptx::Type::S16:
    case ptx::Type::S32:
    case ptx::Type::S64:
      return true;
    default:
      return false;
  }
}

constexpr CostClass integer_cost(ptx::Type type) {
  return type == ptx::Type::U64 || type == ptx::Type::S64 || type == ptx::Type::B64
             ? CostClass::Wide
             : CostClass::Integer;
}

}  // namespace cuco::vgpu
