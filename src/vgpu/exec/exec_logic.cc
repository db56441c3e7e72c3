// SPDX-License-Identifier: Apache-2.0
// Logic, shifts and bit fields (PTX ISA 9.7.8, 9.7.1): and or xor not cnot lop3 shl shr shf bfe bfi
// bfind fns brev clz popc prmt bmsk szext.
#include <algorithm>
#include <bit>

#include "vgpu/lower/lowering.h"
#include "vgpu/lower/pick.h"

namespace cuco::vgpu {

namespace {

struct And {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <typename T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <typename T>
  T operator()(T a) const {
    return a == 0 ? T{1} : T{0};
  }
};
/// Amounts beyond the width give 0 (or the sign).
struct Shl {
  template <typename T>
  T operator()(T a, std::uint32_t n) const {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    return n < kBits ? static_cast<T>(static_cast<U>(a) << n) : T{0};
  }
};
struct Shr {
  template <typename T>
  T operator()(T a, std::uint32_t n) const {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> std::min(n, kBits - 1));
    } else {
      return n < kBits ? static_cast<T>(a >> n) : T{0};
    }
  }
};
/// Funnel shift of {b:a}; the upper (left) or lower (right) word is the result.
template <bool Left, bool Wrap>
struct Shf {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint32_t n = Wrap ? c & 31U : std::min(c, 32U);
    const std::uint64_t both = std::uint64_t{b} << 32U | a;
    return static_cast<std::uint32_t>(Left ? both << n >> 32U : both >> n);
  }
};
struct Bfe {
  template <typename T>
  T operator()(T a, std::uint32_t b, std::uint32_t c) const {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    // The H200 reads 8 bits of position and length for 32-bit fields, at all for 64-bit ones.
    const std::uint32_t pos = kBits == 64 ? std::min(b, 64U) : b & 0xFFU;
    const std::uint32_t len = kBits == 64 ? std::min(c, 64U) : c & 0xFFU;
    const std::uint32_t msb = kBits - 1;
    const auto bits = static_cast<U>(a);
    U sign = 0;
    if (std::is_signed_v<T> && len != 0) {
      sign = static_cast<U>(bits >> std::min(pos + len - 1, msb) & 1U);
    }
    const U field = pos > msb ? U{0} : static_cast<U>(bits >> pos);
    const U fill = static_cast<U>(U{0} - sign);
    // Bits at or above len, and those that lie beyond the register, are the sign.
    const std::uint32_t have = std::min(len, pos > msb ? 0U : kBits - pos);
    const U keep = have >= kBits ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << have) - 1);
    return static_cast<T>((field & keep) | (fill & static_cast<U>(~keep)));
  }
};
/// bfi d, a, b, c, d: inserts a into b. The fourth operand comes through op.d.
template <typename T>
void exec_bfi(Warp& w, const Op& op) {
  const Slot<T>* a = w.slots<T>(op.a);
  const Slot<T>* b = w.slots<T>(op.b);
  const std::uint32_t* c = w.slots<std::uint32_t>(op.c);
  const std::uint32_t* d = w.slots<std::uint32_t>(op.d);
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  detail::store_lanes<T>(w.slots<T>(op.dst), w.active, [&](unsigned l) {
    const std::uint32_t pos = std::min(kBits == 64 ? c[l] : c[l] & 0xFFU, kBits);
    const std::uint32_t len = std::min(kBits == 64 ? d[l] : d[l] & 0xFFU, kBits - pos);
    const T ones = len >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << len) - 1);
    const T mask = pos >= kBits ? T{0} : static_cast<T>(ones << pos);
    const T field = pos >= kBits ? T{0} : static_cast<T>(a[l] << pos);
    return static_cast<T>((field & mask) | (b[l] & static_cast<T>(~mask)));
  });
}
/// Highest bit that differs from the sign; 0xffffffff if none.
template <bool ShiftAmount>
struct Bfind {
  template <typename T>
  std::uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    auto bits = static_cast<U>(a);
    if (std::is_signed_v<T> && a < 0) bits = static_cast<U>(~bits);
    if (bits == 0) return 0xFFFF'FFFFU;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    return ShiftAmount ? zeros : static_cast<std::uint32_t>(8 * sizeof(T)) - 1 - zeros;
  }
};
struct Popc {
  template <typename T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
  }
};
struct Clz {
  template <typename T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(a)));
  }
};
struct Brev {
  template <typename T>
  T operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    auto bits = static_cast<U>(a);
    U out = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) {
      out = static_cast<U>(out << 1U | (bits & 1U));
      bits = static_cast<U>(bits >> 1U);
    }
    return static_cast<T>(out);
  }
};
/// fns: position of the n-th set bit from base, upwards or downwards.
struct Fns {
  std::uint32_t operator()(std::uint32_t mask, std::uint32_t base, std::uint32_t offset) const {
    const auto n = static_cast<std::int32_t>(offset);
    if (base > 31) return 0xFFFF'FFFFU;
    if (n == 0) return (mask >> base & 1U) != 0 ? base : 0xFFFF'FFFFU;
    const int step = n > 0 ? 1 : -1;
    std::uint32_t left = n > 0 ? offset : 0U - offset;
    for (int pos = static_cast<int>(base); pos >= 0 && pos < 32; pos += step) {
      if ((mask >> static_cast<unsigned>(pos) & 1U) != 0 && --left == 0) {
        return static_cast<std::uint32_t>(pos);
      }
    }
    return 0xFFFF'FFFFU;
  }
};
template <bool Wrap>
struct Bmsk {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t pos = Wrap ? a & 31U : std::min(a, 32U);
    const std::uint32_t len = Wrap ? b & 31U : std::min(b, 32U);
    const std::uint64_t ones = (std::uint64_t{1} << len) - 1;
    return static_cast<std::uint32_t>(ones << pos);
  }
};
template <typename T, bool Wrap>
struct Szext {
  T operator()(T a, std::uint32_t n) const {
    const std::uint32_t len = Wrap ? n & 31U : std::min(n, 32U);
    if (len == 32) return a;
    if (len == 0) return T{0};
    const std::uint32_t shift = 32 - len;
    return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a) << shift) >> shift);
  }
};

void exec_lop3(Warp& w, const Op& op) {
  const std::uint32_t* a = w.slots<std::uint32_t>(op.a);
  const std::uint32_t* b = w.slots<std::uint32_t>(op.b);
  const std::uint32_t* c = w.slots<std::uint32_t>(op.c);
  // The truth table as masks, so that the loop has no branches.
  std::uint32_t table[8];
  for (unsigned i = 0; i < 8; ++i)
    table[i] = 0U - (op.aux >> i & 1U);
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(op.dst), w.active, [&](unsigned l) {
    const std::uint32_t x = a[l];
    const std::uint32_t y = b[l];
    const std::uint32_t z = c[l];
    return (~x & ~y & ~z & table[0]) | (~x & ~y & z & table[1]) | (~x & y & ~z & table[2]) |
           (~x & y & z & table[3]) | (x & ~y & ~z & table[4]) | (x & ~y & z & table[5]) |
           (x & y & ~z & table[6]) | (x & y & z & table[7]);
  });
}

/// lop3.BoolOp d|p, a, b, c, lut, q: p = (d != 0) BoolOp q.
void exec_lop3_predicate(Warp& w, const Op& op) {
  exec_lop3(w, op);
  const std::uint32_t* d = w.slots<std::uint32_t>(op.dst);
  std::uint32_t nonzero = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    nonzero |= (d[l] != 0 ? 1U : 0U) << l;
  const std::uint32_t q = w.predicate(static_cast<Ref>(op.imm));
  w.set_predicate(op.d, (op.aux & 0x100U) != 0 ? nonzero & q : nonzero | q);
}

/// prmt: each nibble of the selector picks a byte of {b:a}; its top bit replicates the sign.
struct PermuteDefault {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint64_t bytes = std::uint64_t{b} << 32U | a;
    std::uint32_t out = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t select = c >> (4 * i) & 0xFU;
      auto byte = static_cast<std::uint32_t>(bytes >> (8 * (select & 7U)) & 0xFFU);
      const std::uint32_t sign = (byte & 0x80U) != 0 ? 0xFFU : 0U;
      byte = (select & 8U) != 0 ? sign : byte;
      out |= byte << (8 * i);
    }
    return out;
  }
};

std::uint32_t permute_selector(ptx::Modifier mode, std::uint32_t c) {
  using M = ptx::Modifier;
  const std::uint32_t n = c & 3U;
  std::uint32_t out = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::uint32_t pick = 0;
    switch (mode) {
      case M::F4e:
        pick = n + i;
        break;
      case M::B4e:
        pick = (n + 8 - i) & 7U;
        break;
      case M::Rc8:
        pick = n;
        break;
      case M::Ecl:
        pick = std::max(i, n);
        break;
      case M::Ecr:
        pick = std::min(i, n);
        break;
      default:
        pick = ((n & 1U) << 1U) + (i & 1U);
        break;  // rc16
    }
    out |= pick << (4 * i);
  }
  return out;
}

template <ptx::Modifier Mode>
struct Permute {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    return PermuteDefault{}(a, b, permute_selector(Mode, c));
  }
};

Handler pick_permute(const ptx::Instruction& in) {
  using M = ptx::Modifier;
  using U = std::uint32_t;
  if (in.has(M::F4e)) return lane_map3<U, U, U, U, Permute<M::F4e>>;
  if (in.has(M::B4e)) return lane_map3<U, U, U, U, Permute<M::B4e>>;
  if (in.has(M::Rc8)) return lane_map3<U, U, U, U, Permute<M::Rc8>>;
  if (in.has(M::Ecl)) return lane_map3<U, U, U, U, Permute<M::Ecl>>;
  if (in.has(M::Ecr)) return lane_map3<U, U, U, U, Permute<M::Ecr>>;
  if (in.has(M::Rc16)) return lane_map3<U, U, U, U, Permute<M::Rc16>>;
  return lane_map3<U, U, U, U, PermuteDefault>;
}

Handler pick_funnel(const ptx::Instruction& in) {
  using U = std::uint32_t;
  const bool wrap = in.has(ptx::Modifier::Wrap);
  if (in.has(ptx::Modifier::L)) {
    return wrap ? lane_map3<U, U, U, U, Shf<true, true>> : lane_map3<U, U, U, U, Shf<true, false>>;
  }
  return wrap ? lane_map3<U, U, U, U, Shf<false, true>> : lane_map3<U, U, U, U, Shf<false, false>>;
}

template <typename F>
Handler pick_shift(ptx::Type type) {
  return with_integer(
      type, []<typename T>(TypeTag<T>) -> Handler { return lane_map2<T, T, std::uint32_t, F>; });
}

template <typename F>
Handler pick_count(ptx::Type type) {
  return with_integer(
      type, []<typename T>(TypeTag<T>) -> Handler { return lane_map1<std::uint32_t, T, F>; });
}

// Predicates are masks: logic on them is one operation for the whole warp.
template <typename F>
void exec_predicate_logic(Warp& w, const Op& op) {
  w.set_predicate(op.dst, F{}(w.predicate(op.a), w.predicate(op.b)));
}
void exec_predicate_not(Warp& w, const Op& op) {
  w.set_predicate(op.dst, ~w.predicate(op.a));
}

bool lower_predicate_logic(Lowering& lowering, const ptx::Instruction& in) {
  using ptx::Opcode;
  const Ref dst = lowering.predicate_destination(in.operands[0]);
  const Ref a = lowering.source_predicate(in.operands[1]);
  const bool unary = in.opcode == Opcode::Not;
  if (!unary && in.operands.size() < 3) return false;
  const Ref b = unary ? kTruePredicate : lowering.source_predicate(in.operands[2]);
  Handler handler = nullptr;
  switch (in.opcode) {
    case Opcode::And:
      handler = exec_predicate_logic<And>;
      break;
    case Opcode::Or:
      handler = exec_predicate_logic<Or>;
      break;
    case Opcode::Xor:
      handler = exec_predicate_logic<Xor>;
      break;
    case Opcode::Not:
      handler = exec_predicate_not;
      break;
    default:
      return false;
  }
  Op& op = lowering.emit(handler, CostClass::Move);
  op.dst = dst;
  op.a = a;
  op.b = b;
  return true;
}

struct Shape {
  Handler handler = nullptr;
  ptx::Type result, a, b = ptx::Type::B32, c = ptx::Type::B32;
};

Shape shape_of(const ptx::Instruction& in, ptx::Type type) {
  using M = ptx::Modifier;
  using ptx::Opcode;
  using U = std::uint32_t;
  using S = std::int32_t;
  const auto u32 = ptx::Type::U32;
  const bool wrap = in.has(M::Wrap);
  switch (in.opcode) {
    case Opcode::And:
      return {pick_int2<And>(type), type, type, type};
    case Opcode::Or:
      return {pick_int2<Or>(type), type, type, type};
    case Opcode::Xor:
      return {pick_int2<Xor>(type), type, type, type};
    case Opcode::Not:
      return {pick_int1<Not>(type), type, type};
    case Opcode::Cnot:
      return {pick_int1<Cnot>(type), type, type};
    case Opcode::Shl:
      return {pick_shift<Shl>(type), type, type};
    case Opcode::Shr:
      return {pick_shift<Shr>(type), type, type};
    case Opcode::Shf:
      return {pick_funnel(in), type, type};
    case Opcode::Lop3:
      return {exec_lop3, type, type};
    case Opcode::Prmt:
      return {pick_permute(in), type, type};
    case Opcode::Popc:
      return {pick_count<Popc>(type), u32, type};
    case Opcode::Clz:
      return {pick_count<Clz>(type), u32, type};
    case Opcode::Brev:
      return {pick_int1<Brev>(type), type, type};
    case Opcode::Fns:
      return {lane_map3<U, U, U, U, Fns>, type, type};
    case Opcode::Bfind:
      return {in.has(M::Shiftamt) ? pick_count<Bfind<true>>(type) : pick_count<Bfind<false>>(type),
              u32, type};
    case Opcode::Bfe:
      return {with_integer(type,
                           []<typename T>(TypeTag<T>) -> Handler {
                             return lane_map3<T, T, std::uint32_t, std::uint32_t, Bfe>;
                           }),
              type, type};
    case Opcode::Bfi:
      return {ptx::size_of(type) == 8 ? exec_bfi<std::uint64_t> : exec_bfi<std::uint32_t>, type,
              type, type};
    case Opcode::Bmsk:
      return {wrap ? lane_map2<U, U, U, Bmsk<true>> : lane_map2<U, U, U, Bmsk<false>>, type, type};
    case Opcode::Szext:
      if (type == ptx::Type::S32) {
        return {wrap ? lane_map2<S, S, U, Szext<S, true>> : lane_map2<S, S, U, Szext<S, false>>,
                type, type};
      }
      return {wrap ? lane_map2<U, U, U, Szext<U, true>> : lane_map2<U, U, U, Szext<U, false>>, type,
              type};
    default:
      return {nullptr, type, type};
  }
}

bool lower_lop3_predicate(Lowering& lowering, const ptx::Instruction& in) {
  using M = ptx::Modifier;
  if (in.operands.size() != 6 || in.operands[0].kind != ptx::Operand::Kind::Pair ||
      in.operands[4].kind != ptx::Operand::Kind::Integer) {
    return false;
  }
  const auto type = ptx::Type::B32;
  const Ref dst = lowering.destination(in.operands[0].elements[0], type);
  const Ref target = lowering.predicate_destination(in.operands[0].elements[1]);
  const Ref a = lowering.source(in.operands[1], type);
  const Ref b = lowering.source(in.operands[2], type);
  const Ref c = lowering.source(in.operands[3], type);
  const Ref q = lowering.source_predicate(in.operands[5]);
  Op& op = lowering.emit(exec_lop3_predicate, CostClass::Integer);
  op.dst = dst;
  op.a = a;
  op.b = b;
  op.c = c;
  op.d = target;
  op.imm = q;
  op.aux =
      (static_cast<std::uint32_t>(in.operands[4].value) & 0xFFU) | (in.has(M::And) ? 0x100U : 0U);
  return true;
}

}  // namespace

bool lower_logic(Lowering& lowering, const ptx::Instruction& in) {
  if (in.types.empty() || in.operands.size() < 2) return false;
  const ptx::Type type = in.types[0];
  if (type == ptx::Type::Pred) return lower_predicate_logic(lowering, in);
  if (in.opcode == ptx::Opcode::Lop3 && in.operands.size() == 6) {
    return lower_lop3_predicate(lowering, in);
  }
  const Shape shape = shape_of(in, type);
  if (shape.handler == nullptr) return false;
  const bool bfi = in.opcode == ptx::Opcode::Bfi;
  std::size_t sources = in.operands.size() - 1;
  std::uint32_t aux = 0;
  if (in.opcode == ptx::Opcode::Lop3) {
    if (sources != 4 || in.operands[4].kind != ptx::Operand::Kind::Integer) return false;
    aux = static_cast<std::uint32_t>(in.operands[4].value);
    sources = 3;
  }
  const Ref dst = lowering.destination(in.operands[0], shape.result);
  const Ref a = lowering.source(in.operands[1], shape.a);
  const Ref b = sources > 1 ? lowering.source(in.operands[2], shape.b) : kScratch;
  const Ref c = sources > 2 ? lowering.source(in.operands[3], shape.c) : kScratch;
  const Ref d = sources > 3 && bfi ? lowering.source(in.operands[4], ptx::Type::B32) : kScratch;
  Op& op = lowering.emit(shape.handler, integer_cost(type));
  op.dst = dst;
  op.a = a;
  op.b = b;
  op.c = c;
  op.d = d;
  op.aux = aux;
  return true;
}

}  // namespace cuco::vgpu
