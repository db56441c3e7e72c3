// SPDX-License-Identifier: Apache-2.0
// mma.sync: fragments of the 32 lanes to matrices, the tensor core's arithmetic, and back
// (PTX ISA 9.7.14.5).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <immintrin.h>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/tensor/fragments.h"
#include "vgpu/tensor/tensor_core.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Type;

/// Registers of the operands: A, B, C, D one after the other in Kernel::refs.
struct Shape {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
};

constexpr Shape unpack_shape(std::uint32_t aux) {
  return {aux & 0xFU, aux >> 4U & 0xFU, aux >> 8U & 0xFU};
}
constexpr std::uint32_t kSaturate = 0x1000;

template <typename T>
std::array<const Slot<T>*, 8> registers(const Warp& w, const Ref* refs, unsigned count) {
  std::array<const Slot<T>*, 8> out{};
  for (unsigned i = 0; i < count; ++i)
    out[i] = w.slots<T>(refs[i]);
  return out;
}

// ---- f16, bf16, tf32

/// All the bits of the registers, together.
std::uint32_t bits_of(const std::uint32_t* const* registers, unsigned count) {
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < count && bits == 0; ++i) {
    for (unsigned l = 0; l < kLanes; ++l)
      bits |= registers[i][l];
  }
  return bits;
}

/// Does a pair of 16-bit numbers have the highest exponent: infinite, or no number?
bool has_infinite(const std::uint32_t* const* registers, unsigned count, std::uint32_t exponent) {
  std::uint32_t found = 0;
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t low = registers[i][l] & exponent;
      const std::uint32_t high = registers[i][l] >> 16U & exponent;
      found |= static_cast<std::uint32_t>(low == exponent) |
               static_cast<std::uint32_t>(high == exponent);
    }
  }
  return found != 0;
}

/// Is the product zero, and nothing to add it to? Tiles that are larger than the matrix are filled
/// up with zeros.
template <FactorKind Kind>
bool is_nothing(const std::uint32_t* const* a,
                const std::uint32_t* const* b,
                const std::uint32_t* const* c,
                const Shape& shape) {
  if (Kind == FactorKind::Tf32) return false;
  constexpr std::uint32_t kExponent = Kind == FactorKind::F16 ? 0x7C00 : 0x7F80;
  return bits_of(a, shape.a) == 0 && bits_of(c, shape.c) == 0 &&
         !has_infinite(b, shape.b, kExponent);
}

template <FactorKind Kind, unsigned Depth, bool HalfAccumulator>
void exec_float(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Shape shape = unpack_shape(op.aux);
  const Ref* refs = w.kernel->refs.data() + op.list;
  const auto ra = registers<std::uint32_t>(w, refs, shape.a);
  const auto rb = registers<std::uint32_t>(w, refs + shape.a, shape.b);
  const auto rc = registers<std::uint32_t>(w, refs + shape.a + shape.b, shape.c);
  if (is_nothing<Kind>(ra.data(), rb.data(), rc.data(), shape)) {
    for (unsigned i = 0; i < shape.c; ++i) {
      detail::store_lanes<std::uint32_t>(
          w.slots<std::uint32_t>(refs[shape.a + shape.b + shape.c + i]), w.active,
          [](unsigned) { return 0U; });
    }
    return;
  }
  if (w.sm->timing->native_tensor) {
    alignas(32) std::array<float, 16 * Depth> values_a;
    alignas(32) std::array<float, Depth * 8> values_b;
    alignas(32) std::array<float, 128> sum;
    load_values_a(Kind, Depth, FragmentRegisters(ra.data(), shape.a), values_a.data());
    load_values_b(Kind, FragmentRegisters(rb.data(), shape.b), values_b.data());
    const Ref* out = refs + shape.a + shape.b + shape.c;
    if constexpr (HalfAccumulator) {
      load_accumulator_f16(rc.data(), sum.data());
      multiply_native(values_a.data(), values_b.data(), Depth, sum.data(), sum.data());
      store_accumulator_f16(w, out, sum.data());
    } else {
      load_accumulator(rc.data(), sum.data());
      multiply_native(values_a.data(), values_b.data(), Depth, sum.data(), sum.data());
      store_accumulator(w, out, sum.data());
    }
    return;
  }
  FactorsA a;
  FactorsB b;
  load_fragment_a(Kind, Depth, FragmentRegisters(ra.data(), shape.a), a);
  load_fragment_b(Kind, Depth, FragmentRegisters(rb.data(), shape.b), b);
  alignas(32) std::array<float, 128> c;
  alignas(32) std::array<float, 128> d;
  const Ref* to = refs + shape.a + shape.b + shape.c;
  if constexpr (HalfAccumulator) {
    load_accumulator_f16(rc.data(), c.data());
    multiply_accumulate_f16(a, b, Depth, c.data(), d.data());
    store_accumulator_f16(w, to, d.data());
  } else {
    load_accumulator(rc.data(), c.data());
    multiply_accumulate(a, b, Depth, c.data(), d.data());
    store_accumulator(w, to, d.data());
  }
}

// ---- e4m3, e5m2: sm_90 has no such unit; ptxas widens to f16 and does K = 16 twice, first with
// bytes 0 and 1 of every register, then with bytes 2 and 3, and adds the accumulator at the end.

template <typename Decode>
void widen_fp8(std::span<const std::uint32_t* const> words,
               unsigned pair,
               std::uint16_t* to,
               Decode decode) {
  // Lane 4r + t holds bytes 4t.. of row r: two of them make columns 2t and 2t + 1 of a block.
  for (unsigned r = 0; r < words.size(); ++r) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t word = words[r][l] >> (16 * pair);
      to[64 * r + 2 * l] = decode(static_cast<std::uint8_t>(word));
      to[64 * r + 2 * l + 1] = decode(static_cast<std::uint8_t>(word >> 8U));
    }
  }
}

template <unsigned FormatA, unsigned FormatB>
void exec_fp8(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Ref* refs = w.kernel->refs.data() + op.list;
  const auto ra = registers<std::uint32_t>(w, refs, 4);
  const auto rb = registers<std::uint32_t>(w, refs + 4, 2);
  const auto rc = registers<std::uint32_t>(w, refs + 6, 4);
  alignas(32) std::array<float, 128> sum{};
  for (unsigned pair = 0; pair < 2; ++pair) {
    alignas(32) std::array<std::uint16_t, 256> ha;
    alignas(32) std::array<std::uint16_t, 128> hb;
    widen_fp8(FragmentRegisters(ra.data(), 4), pair, ha.data(), fp8_to_f16<FormatA>);
    widen_fp8(FragmentRegisters(rb.data(), 2), pair, hb.data(), fp8_to_f16<FormatB>);
    std::array<const std::uint32_t*, 6> blocks{};
    std::array<std::array<std::uint32_t, kLanes>, 6> copies;
    for (unsigned r = 0; r < 6; ++r) {
      std::memcpy(copies[r].data(),
                  r < 4 ? &ha[std::size_t{64} * r] : &hb[std::size_t{64} * (r - 4)],
                  sizeof(copies[r]));
      blocks[r] = copies[r].data();
    }
    FactorsA a;
    FactorsB b;
    load_fragment_a(FactorKind::F16, 16, FragmentRegisters(blocks.data(), 4), a);
    load_fragment_b(FactorKind::F16, 16, FragmentRegisters(blocks.data() + 4, 2), b);
    multiply_accumulate(a, b, 16, sum.data(), sum.data());
  }
  alignas(32) std::array<float, 128> c;
  load_accumulator(rc.data(), c.data());
  for (unsigned i = 0; i < c.size(); ++i) {
    c[i] += sum[i];
    if (c[i] != c[i]) c[i] = std::bit_cast<float>(kNanF32);
  }
  store_accumulator(w, refs + 10, c.data());
}

// ---- f64: a chain of fused multiply-adds, k ascending

void exec_double(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Shape shape = unpack_shape(op.aux);
  const Ref* refs = w.kernel->refs.data() + op.list;
  const auto ra = registers<double>(w, refs, shape.a);
  const auto rb = registers<double>(w, refs + shape.a, shape.b);
  const auto rc = registers<double>(w, refs + shape.a + shape.b, shape.c);
  const unsigned row_blocks = shape.c / 2;
  std::array<std::array<std::uint64_t, kLanes>, 4> out{};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < shape.c; ++i) {
      const unsigned row = lane / 4;
      const unsigned column = 2 * (lane % 4) + i % 2;
      auto sum = std::bit_cast<double>(rc[i][lane]);
      for (unsigned k = 0; k < 4 * shape.b; ++k) {
        const auto x = std::bit_cast<double>(ra[row_blocks * (k / 4) + i / 2][4 * row + k % 4]);
        const auto y = std::bit_cast<double>(rb[k / 4][4 * column + k % 4]);
        sum = std::fma(x, y, sum);
      }
      out[i][lane] = sum == sum ? std::bit_cast<std::uint64_t>(sum) : 0xFFF8'0000'0000'0000U;
    }
  }
  const Ref* to = refs + shape.a + shape.b + shape.c;
  for (unsigned i = 0; i < shape.c; ++i) {
    detail::store_lanes<std::uint64_t>(w.slots<std::uint64_t>(to[i]), w.active,
                                       [&](unsigned l) { return out[i][l]; });
  }
}

// ---- integers: four words of a row against four words of a column, 16 bytes each

template <bool Signed>
__m256i widen_bytes(const std::uint32_t* words) {
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
  return Signed ? _mm256_cvtepi8_epi16(raw) : _mm256_cvtepu8_epi16(raw);
}

template <bool SignedA, bool SignedB>
struct DotBytes {
  static std::int64_t apply(const std::uint32_t* a, const std::uint32_t* b) {
    const __m256i products = _mm256_madd_epi16(widen_bytes<SignedA>(a), widen_bytes<SignedB>(b));
    __m128i sum =
        _mm_add_epi32(_mm256_castsi256_si128(products), _mm256_extracti128_si256(products, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
    return _mm_cvtsi128_si32(sum);
  }
};

template <bool SignedA, bool SignedB>
struct DotNibbles {
  static std::int64_t apply(const std::uint32_t* a, const std::uint32_t* b) {
    const auto nibble = [](std::uint32_t word, unsigned i, bool is_signed) {
      const auto value = static_cast<int>(word >> (4 * i) & 15U);
      return is_signed && value >= 8 ? value - 16 : value;
    };
    std::int64_t sum = 0;
    for (unsigned t = 0; t < 4; ++t) {
      for (unsigned i = 0; i < 8; ++i)
        sum += nibble(a[t], i, SignedA) * nibble(b[t], i, SignedB);
    }
    return sum;
  }
};

template <bool Xor>
struct DotBits {
  static std::int64_t apply(const std::uint32_t* a, const std::uint32_t* b) {
    std::int64_t sum = 0;
    for (unsigned t = 0; t < 4; ++t)
      sum += std::popcount(Xor ? a[t] ^ b[t] : a[t] & b[t]);
    return sum;
  }
};

template <typename Dot>
void exec_integer(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Shape shape = unpack_shape(op.aux);
  const bool saturate = (op.aux & kSaturate) != 0;
  const Ref* refs = w.kernel->refs.data() + op.list;
  const auto ra = registers<std::uint32_t>(w, refs, shape.a);
  const auto rb = registers<std::uint32_t>(w, refs + shape.a, shape.b);
  const auto rc = registers<std::uint32_t>(w, refs + shape.a + shape.b, shape.c);
  const unsigned row_blocks = shape.c / 2;
  std::array<std::array<std::uint32_t, kLanes>, 4> out{};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < shape.c; ++i) {
      const unsigned row = lane / 4;
      const unsigned column = 2 * (lane % 4) + i % 2;
      std::int64_t sum = static_cast<std::int32_t>(rc[i][lane]);
      for (unsigned k = 0; k < shape.b; ++k) {
        sum += Dot::apply(ra[row_blocks * k + i / 2] + 4 * row, rb[k] + 4 * column);
      }
      if (saturate) {
        sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max());
      }
      out[i][lane] = static_cast<std::uint32_t>(sum);
    }
  }
  const Ref* to = refs + shape.a + shape.b + shape.c;
  for (unsigned i = 0; i < shape.c; ++i) {
    detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(to[i]), w.active,
                                       [&](unsigned l) { return out[i][l]; });
  }
}

// ---- choosing the handler

template <FactorKind Kind>
Handler float_handler(unsigned depth, bool half) {
  if (depth == 16 && Kind != FactorKind::Tf32) {
    return half ? exec_float<Kind, 16, true> : exec_float<Kind, 16, false>;
  }
  if (depth == 8) return half ? exec_float<Kind, 8, true> : exec_float<Kind, 8, false>;
  if (depth == 4 && !half) return exec_float<Kind, 4, false>;
  return nullptr;
}

template <template <bool, bool> typename Dot>
Handler integer_handler(bool signed_a, bool signed_b) {
  if (signed_a) return signed_b ? exec_integer<Dot<true, true>> : exec_integer<Dot<true, false>>;
  return signed_b ? exec_integer<Dot<false, true>> : exec_integer<Dot<false, false>>;
}

unsigned depth_of(const ptx::Instruction& in) {
  for (const Modifier modifier : in.modifiers) {
    switch (modifier) {
      case Modifier::M8n8k4:
      case Modifier::M16n8k4:
        return 4;
      case Modifier::M16n8k8:
        return 8;
      case Modifier::M16n8k16:
      case Modifier::M8n8k16:
        return 16;
      case Modifier::M16n8k32:
      case Modifier::M8n8k32:
        return 32;
      case Modifier::M16n8k64:
        return 64;
      case Modifier::M16n8k128:
      case Modifier::M8n8k128:
        return 128;
      case Modifier::M16n8k256:
        return 256;
      default:
        break;
    }
  }
  return 0;
}

/// Registers of B: its 8 columns of `depth` elements over 32 lanes.
std::uint32_t expected_b(const ptx::Instruction& in) {
  const Type type = in.types[2];
  const std::uint32_t bits = type == Type::B1                           ? 1
                             : type == Type::S4 || type == Type::U4     ? 4
                             : type == Type::E4m3 || type == Type::E5m2 ? 8
                             : type == Type::Tf32                       ? 32
                             : type == Type::F64 ? 32  // one register of 64 bits each
                                                 : 8 * ptx::size_of(type);
  return depth_of(in) * bits / 128;
}

Handler fp8_handler(Type a, Type b) {
  if (a == Type::E4m3) return b == Type::E4m3 ? exec_fp8<4, 4> : exec_fp8<4, 5>;
  return b == Type::E4m3 ? exec_fp8<5, 4> : exec_fp8<5, 5>;
}

Handler choose(const ptx::Instruction& in) {
  const unsigned depth = depth_of(in);
  const Type a = in.types[1];
  const Type b = in.types[2];
  const bool half = in.types[0] == Type::F16;
  switch (a) {
    case Type::F16:
      return in.has(Modifier::M8n8k4) ? nullptr : float_handler<FactorKind::F16>(depth, half);
    case Type::Bf16:
      return float_handler<FactorKind::Bf16>(depth, half);
    case Type::Tf32:
      return float_handler<FactorKind::Tf32>(depth, half);
    case Type::F64:
      return exec_double;
    case Type::E4m3:
    case Type::E5m2:
      return depth == 32 && !half ? fp8_handler(a, b) : nullptr;
    case Type::S8:
    case Type::U8:
      return integer_handler<DotBytes>(a == Type::S8, b == Type::S8);
    case Type::S4:
    case Type::U4:
      return integer_handler<DotNibbles>(a == Type::S4, b == Type::S4);
    case Type::B1:
      return in.has(Modifier::Xor) ? exec_integer<DotBits<true>> : exec_integer<DotBits<false>>;
    default:
      return nullptr;
  }
}

}  // namespace

bool lower_mma(Lowering& lowering, const ptx::Instruction& in) {
  if (in.types.size() != 4 || in.operands.size() != 4 || in.has(Modifier::Sp)) return false;
  const Handler handler = choose(in);
  if (handler == nullptr) return false;
  const bool wide = in.types[1] == Type::F64;
  const Type word = wide ? Type::B64 : Type::B32;
  std::vector<Ref> refs;
  std::array<std::uint32_t, 4> counts{};
  for (const unsigned operand : {1U, 2U, 3U, 0U}) {
    const ptx::Operand& list = in.operands[operand];
    const bool is_vector = list.kind == ptx::Operand::Kind::Vector;
    const std::size_t count = is_vector ? list.elements.size() : 1;
    counts[operand] = static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const ptx::Operand& element = is_vector ? list.elements[i] : list;
      refs.push_back(operand == 0 ? lowering.destination(element, word)
                                  : lowering.source(element, word));
    }
  }
  // Handlers trust the counts: what a shape needs is checked here.
  const bool small = counts[3] == 2 && in.types[0] != Type::F16;
  const std::uint32_t blocks = small ? 1 : 2;
  if (counts[0] != counts[3] || counts[1] != blocks * counts[2] || counts[1] > 8) return false;
  const std::uint32_t expected_c = in.types[0] == Type::F16 ? 2 : 2 * blocks;
  if (counts[3] != expected_c || counts[2] != expected_b(in)) return false;
  const Ref members = lowering.constant32(kFullMask);
  const std::uint32_t start = lowering.list(refs);
  Op& op = lowering.emit(handler, CostClass::Tensor);
  op.d = members;
  op.list = start;
  op.aux = counts[1] | counts[2] << 4U | counts[3] << 8U |
           (in.has(Modifier::Satfinite) ? kSaturate : 0U);
  op.imm = depth_of(in);
  return true;
}

}  // namespace cuco::vgpu
