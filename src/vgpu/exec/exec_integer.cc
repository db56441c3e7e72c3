// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic (PTX ISA 9.7.1): add sub mul mad mul24 mad24 sad div rem abs neg min max,
// dot products.
#include <algorithm>
#include <limits>

#include "vgpu/lower/lowering.h"
#include "vgpu/lower/pick.h"

namespace cuco::vgpu {

namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

/// Wrap-around arithmetic without signed overflow, and without promotion of 16-bit types.
template <typename T>
using Unsigned = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
};
inline std::int32_t saturate(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}
struct AddSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return saturate(std::int64_t{a} + b);
  }
};
struct SubSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return saturate(std::int64_t{a} - b);
  }
};
struct MulLo {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  }
};
struct MulHi {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (sizeof(T) == 8) {
      using Product = std::conditional_t<std::is_signed_v<T>, Int128, Uint128>;
      return static_cast<T>((static_cast<Product>(a) * static_cast<Product>(b)) >> 64);
    } else {
      using Product = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      return static_cast<T>((static_cast<Product>(a) * static_cast<Product>(b)) >> (8 * sizeof(T)));
    }
  }
};
template <typename Mul>
struct MulAdd {
  template <typename T>
  T operator()(T a, T b, T c) const {
    return Add{}(Mul{}(a, b), c);
  }
};
struct MadHiSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
    return saturate(std::int64_t{MulHi{}(a, b)} + c);
  }
};
/// Low 24 bits, extended by the type's sign.
template <typename T>
inline std::int64_t low24(T value) {
  const auto bits = static_cast<std::uint32_t>(value) << 8U;
  return std::is_signed_v<T> ? static_cast<std::int32_t>(bits) >> 8 : std::int64_t{bits >> 8U};
}
struct Mad24HiSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
    const auto high =
        static_cast<std::int32_t>(static_cast<std::uint64_t>(low24(a) * low24(b)) >> 16U);
    return saturate(std::int64_t{high} + c);
  }
};
struct MulWide {
  template <typename T>
  Wide<T> operator()(T a, T b) const {
    return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};
struct MadWide {
  template <typename T>
  Wide<T> operator()(T a, T b, Wide<T> c) const {
    return Add{}(MulWide{}(a, b), c);
  }
};
struct Mul24Lo {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint64_t>(low24(a) * low24(b)));
  }
};
struct Mul24Hi {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint64_t>(low24(a) * low24(b)) >> 16U);
  }
};
/// Division by zero and the one overflow are unspecified in PTX: all ones, and wrap-around.
struct Div {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return Sub{}(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return T{0};
    }
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
template <typename Base>
struct Relu {
  template <typename T>
  T operator()(T a, T b) const {
    return Max{}(Base{}(a, b), T{0});
  }
};
struct Neg {
  template <typename T>
  T operator()(T a) const {
    return Sub{}(T{0}, a);
  }
};
struct Abs {
  template <typename T>
  T operator()(T a) const {
    return a < 0 ? Sub{}(T{0}, a) : a;
  }
};
struct Sad {
  template <typename T>
  T operator()(T a, T b, T c) const {
    return Add{}(a < b ? Sub{}(b, a) : Sub{}(a, b), c);
  }
};
/// Two 16-bit halves apart (u16x2, s16x2).
template <typename H, typename F>
struct Halves {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const auto low = static_cast<std::uint16_t>(F{}(static_cast<H>(a), static_cast<H>(b)));
    const auto high =
        static_cast<std::uint16_t>(F{}(static_cast<H>(a >> 16U), static_cast<H>(b >> 16U)));
    return static_cast<std::uint32_t>(high) << 16U | low;
  }
};
/// dp4a: four byte products; the signs of a and b are separate.
template <typename A, typename B>
struct Dp4a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (unsigned i = 0; i < 32; i += 8) {
      const int product = static_cast<A>(a >> i) * static_cast<B>(b >> i);
      c += static_cast<std::uint32_t>(product);
    }
    return c;
  }
};
template <typename A, typename B, unsigned Shift>
struct Dp2a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    using HalfA = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
    for (unsigned i = 0; i < 2; ++i) {
      const int product = static_cast<HalfA>(a >> (16 * i)) * static_cast<B>(b >> (Shift + 8 * i));
      c += static_cast<std::uint32_t>(product);
    }
    return c;
  }
};

template <typename F>
Handler halves_handler(ptx::Type type) {
  using U = std::uint32_t;
  if (type == ptx::Type::U16x2) return lane_map2<U, U, U, Halves<std::uint16_t, F>>;
  if (type == ptx::Type::S16x2) return lane_map2<U, U, U, Halves<std::int16_t, F>>;
  return nullptr;
}

template <typename A, typename B>
Handler dot_handler(const ptx::Instruction& in) {
  using U = std::uint32_t;
  if (in.opcode == ptx::Opcode::Dp4a) return lane_map3<U, U, U, U, Dp4a<A, B>>;
  return in.has(ptx::Modifier::Hi) ? lane_map3<U, U, U, U, Dp2a<A, B, 16>>
                                   : lane_map3<U, U, U, U, Dp2a<A, B, 0>>;
}

Handler pick_dot(const ptx::Instruction& in) {
  if (in.types.size() < 2) return nullptr;
  const bool a = in.types[0] == ptx::Type::S32;
  const bool b = in.types[1] == ptx::Type::S32;
  if (a)
    return b ? dot_handler<std::int8_t, std::int8_t>(in)
             : dot_handler<std::int8_t, std::uint8_t>(in);
  return b ? dot_handler<std::uint8_t, std::int8_t>(in)
           : dot_handler<std::uint8_t, std::uint8_t>(in);
}

template <typename F>
Handler pick_wide(ptx::Type type) {
  return with_integer(type, []<typename T>(TypeTag<T>) -> Handler {
    if constexpr (sizeof(T) == 8) {
      return nullptr;
    } else if constexpr (std::is_same_v<F, MulWide>) {
      return lane_map2<Wide<T>, T, T, F>;
    } else {
      return lane_map3<Wide<T>, T, T, Wide<T>, F>;
    }
  });
}

ptx::Type widened(ptx::Type type) {
  switch (type) {
    case ptx::Type::U16:
      return ptx::Type::U32;
    case ptx::Type::S16:
      return ptx::Type::S32;
    case ptx::Type::U32:
      return ptx::Type::U64;
    case ptx::Type::S32:
      return ptx::Type::S64;
    default:
      return ptx::Type::None;
  }
}

Handler pick_handler(const ptx::Instruction& in, ptx::Type type) {
  using M = ptx::Modifier;
  using ptx::Opcode;
  using S = std::int32_t;
  const bool sat = in.has(M::Sat);
  const bool hi = in.has(M::Hi);
  switch (in.opcode) {
    case Opcode::Add:
      if (Handler packed = halves_handler<Add>(type)) return packed;
      return sat ? lane_map2<S, S, S, AddSat> : pick_int2<Add>(type);
    case Opcode::Sub:
      return sat ? lane_map2<S, S, S, SubSat> : pick_int2<Sub>(type);
    case Opcode::Mul:
      return hi ? pick_int2<MulHi>(type) : pick_int2<MulLo>(type);
    case Opcode::Mad:
      if (hi && sat) return lane_map3<S, S, S, S, MadHiSat>;
      return hi ? pick_int3<MulAdd<MulHi>>(type) : pick_int3<MulAdd<MulLo>>(type);
    case Opcode::Mul24:
      return hi ? pick_int2<Mul24Hi>(type) : pick_int2<Mul24Lo>(type);
    case Opcode::Mad24:
      if (hi && sat) return lane_map3<S, S, S, S, Mad24HiSat>;
      return hi ? pick_int3<MulAdd<Mul24Hi>>(type) : pick_int3<MulAdd<Mul24Lo>>(type);
    case Opcode::Sad:
      return pick_int3<Sad>(type);
    case Opcode::Div:
      return pick_int2<Div>(type);
    case Opcode::Rem:
      return pick_int2<Rem>(type);
    case Opcode::Min:
      if (in.has(M::Relu) && type == ptx::Type::S16x2) return halves_handler<Relu<Min>>(type);
      if (Handler packed = halves_handler<Min>(type)) return packed;
      return in.has(M::Relu) ? lane_map2<S, S, S, Relu<Min>> : pick_int2<Min>(type);
    case Opcode::Max:
      if (in.has(M::Relu) && type == ptx::Type::S16x2) return halves_handler<Relu<Max>>(type);
      if (Handler packed = halves_handler<Max>(type)) return packed;
      return in.has(M::Relu) ? lane_map2<S, S, S, Relu<Max>> : pick_int2<Max>(type);
    case Opcode::Neg:
      return pick_int1<Neg>(type);
    case Opcode::Abs:
      return pick_int1<Abs>(type);
    case Opcode::Dp4a:
    case Opcode::Dp2a:
      return pick_dot(in);
    default:
      return nullptr;
  }
}

}  // namespace

bool lower_integer(Lowering& lowering, const ptx::Instruction& in) {
  if (in.types.empty() || in.operands.size() < 2) return false;
  const ptx::Type type = in.types[0];
  const bool wide = in.has(ptx::Modifier::Wide);
  const bool dot = in.opcode == ptx::Opcode::Dp4a || in.opcode == ptx::Opcode::Dp2a;
  const bool three = in.operands.size() > 3;
  const ptx::Type result = wide ? widened(type) : type;
  Handler handler = nullptr;
  if (wide) {
    handler = three ? pick_wide<MadWide>(type) : pick_wide<MulWide>(type);
  } else {
    handler = pick_handler(in, type);
  }
  if (handler == nullptr) return false;
  // Multiplications and divisions take the slower path of the integer unit.
  const bool heavy = in.opcode == ptx::Opcode::Div || in.opcode == ptx::Opcode::Rem || wide || dot;
  const Ref dst = lowering.destination(in.operands[0], result);
  const Ref a = lowering.source(in.operands[1], type);
  const Ref b = in.operands.size() > 2 ? lowering.source(in.operands[2], type) : kScratch;
  const Ref c = three ? lowering.source(in.operands[3], result) : kScratch;
  Op& op = lowering.emit(handler, heavy ? CostClass::Wide : integer_cost(type));
  op.dst = dst;
  op.a = a;
  op.b = b;
  op.c = c;
  return true;
}

}  // namespace cuco::vgpu
