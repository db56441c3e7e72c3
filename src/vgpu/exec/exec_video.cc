// SPDX-License-Identifier: Apache-2.0
// Scalar and SIMD video instructions (PTX ISA 9.7.17). Old, rare and slow on today's hardware too:
// one interpreter of their fields serves them all.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/numbers/comparison.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Part;
using ptx::Type;

enum class Action : std::uint8_t { Add, Sub, AbsDiff, Min, Max, Average, Shl, Shr, Mad, Set };
enum class Second : std::uint8_t { None, Add, Min, Max, Merge };

/// What the modifiers say, packed into Op::imm.
struct Video {
  Action action = Action::Add;
  Second second = Second::None;
  Comparison comparison = Comparison::Eq;
  Part a = Part::Whole;
  Part b = Part::Whole;
  Part d = Part::Whole;
  bool signed_a = false;
  bool signed_b = false;
  bool signed_d = false;
  bool saturate = false;
  bool wrap = false;
  std::uint8_t shift = 0;  ///< vmad: .shr7, .shr15
  std::uint8_t lanes = 1;  ///< 1: scalar, 2 or 4: SIMD

  [[nodiscard]] std::uint64_t pack() const {
    std::uint64_t out = 0;
    for (const unsigned field :
         {static_cast<unsigned>(action), static_cast<unsigned>(second),
          static_cast<unsigned>(comparison), static_cast<unsigned>(a), static_cast<unsigned>(b),
          static_cast<unsigned>(d), unsigned{signed_a}, unsigned{signed_b}, unsigned{signed_d},
          unsigned{saturate}, unsigned{wrap}, unsigned{shift}, unsigned{lanes}}) {
      out = out << 4U | field;
    }
    return out;
  }
  static Video unpack(std::uint64_t bits) {
    const auto field = [&](unsigned from_end) {
      return static_cast<std::uint8_t>(bits >> (4 * from_end) & 15U);
    };
    Video v;
    v.action = static_cast<Action>(field(12));
    v.second = static_cast<Second>(field(11));
    v.comparison = static_cast<Comparison>(field(10));
    v.a = static_cast<Part>(field(9));
    v.b = static_cast<Part>(field(8));
    v.d = static_cast<Part>(field(7));
    v.signed_a = field(6) != 0;
    v.signed_b = field(5) != 0;
    v.signed_d = field(4) != 0;
    v.saturate = field(3) != 0;
    v.wrap = field(2) != 0;
    v.shift = field(1);
    v.lanes = field(0);
    return v;
  }
};

struct Field {
  unsigned offset = 0;
  unsigned bits = 32;
};
constexpr Field field_of(Part part) {
  switch (part) {
    case Part::B0:
      return {0, 8};
    case Part::B1:
      return {8, 8};
    case Part::B2:
      return {16, 8};
    case Part::B3:
      return {24, 8};
    case Part::H0:
      return {0, 16};
    case Part::H1:
      return {16, 16};
    case Part::Whole:
      break;
  }
  return {};
}

std::int64_t extend(std::uint32_t word, Field field, bool is_signed) {
  const std::uint64_t mask = (std::uint64_t{1} << field.bits) - 1;
  const auto value = static_cast<std::int64_t>(word >> field.offset & mask);
  const bool negative = is_signed && (value >> (field.bits - 1) & 1) != 0;
  return negative ? value - static_cast<std::int64_t>(mask) - 1 : value;
}

std::int64_t clamp_to(std::int64_t value, unsigned bits, bool is_signed) {
  const std::int64_t span = std::int64_t{1} << bits;
  return is_signed ? std::clamp(value, -span / 2, span / 2 - 1)
                   : std::clamp<std::int64_t>(value, 0, span - 1);
}

std::int64_t act(const Video& v, std::int64_t a, std::int64_t b) {
  switch (v.action) {
    case Action::Add:
      return a + b;
    case Action::Sub:
      return a - b;
    case Action::AbsDiff:
      return a > b ? a - b : b - a;
    case Action::Min:
      return std::min(a, b);
    case Action::Max:
      return std::max(a, b);
    case Action::Average: {
      const std::int64_t sum = a + b;
      return (sum >= 0 ? sum + 1 : sum) >> 1;
    }
    case Action::Set:
      return compare_values(v.comparison, a, b) ? 1 : 0;
    case Action::Shl:
    case Action::Shr: {
      const std::int64_t amount = v.wrap ? b & 31 : std::min<std::int64_t>(b & 0xFFFF'FFFF, 32);
      return v.action == Action::Shl ? a * (std::int64_t{1} << amount) : a >> amount;
    }
    case Action::Mad:
      return a * b;
  }
  return 0;
}

std::uint32_t finish(const Video& v, std::uint32_t value, std::uint32_t c) {
  const auto sx = static_cast<std::int32_t>(value);
  const auto sc = static_cast<std::int32_t>(c);
  switch (v.second) {
    case Second::None:
      return value;
    case Second::Add:
      return value + c;
    case Second::Min:
      return v.signed_d ? static_cast<std::uint32_t>(std::min(sx, sc)) : std::min(value, c);
    case Second::Max:
      return v.signed_d ? static_cast<std::uint32_t>(std::max(sx, sc)) : std::max(value, c);
    case Second::Merge: {
      const Field f = field_of(v.d);
      const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << f.bits) - 1)
                                 << f.offset;
      // The manual shifts the value into place; the hardware does not.
      return (c & ~mask) | (value & mask);
    }
  }
  return value;
}

std::uint32_t scalar(const Video& v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::int64_t x = extend(a, field_of(v.a), v.signed_a);
  const std::int64_t y = extend(b, field_of(v.b), v.signed_b);
  if (v.action == Action::Mad) {
    // Whole words and the addend are signed whatever their types say: so the hardware's answers.
    const bool is_signed = v.signed_a || v.signed_b;
    const std::int64_t wx = v.a == Part::Whole ? static_cast<std::int32_t>(a) : x;
    const std::int64_t wy = v.b == Part::Whole ? static_cast<std::int32_t>(b) : y;
    const auto sum = static_cast<std::uint64_t>(wx) * static_cast<std::uint64_t>(wy) +
                     static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(c)});
    const std::int64_t scaled = static_cast<std::int64_t>(sum) >> v.shift;
    return static_cast<std::uint32_t>(v.saturate ? clamp_to(scaled, 32, is_signed) : scaled);
  }
  std::int64_t value = act(v, x, y);
  if (v.saturate) value = clamp_to(value, field_of(v.d).bits, v.signed_d);
  return finish(v, static_cast<std::uint32_t>(value), c);
}

std::uint32_t simd(const Video& v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const unsigned bits = 32U / v.lanes;
  const std::uint32_t mask = (1U << bits) - 1;
  std::uint32_t packed = 0;
  std::uint32_t sum = c;
  for (unsigned lane = 0; lane < v.lanes; ++lane) {
    const Field field{lane * bits, bits};
    std::int64_t value = act(v, extend(a, field, v.signed_a), extend(b, field, v.signed_b));
    if (v.saturate) value = clamp_to(value, bits, v.signed_d);
    packed |= (static_cast<std::uint32_t>(value) & mask) << field.offset;
    sum += static_cast<std::uint32_t>(value);
  }
  return v.second == Second::Add ? sum : packed;
}

void exec_video(Warp& w, const Op& op) {
  const Video v = Video::unpack(op.imm);
  map3<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      w, op, [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return v.lanes == 1 ? scalar(v, a, b, c) : simd(v, a, b, c);
      });
}

struct Entry {
  Opcode opcode;
  Action action;
  std::uint8_t lanes;
};
constexpr std::array kTable{
    Entry{Opcode::Vadd, Action::Add, 1},          Entry{Opcode::Vsub, Action::Sub, 1},
    Entry{Opcode::Vabsdiff, Action::AbsDiff, 1},  Entry{Opcode::Vmin, Action::Min, 1},
    Entry{Opcode::Vmax, Action::Max, 1},          Entry{Opcode::Vshl, Action::Shl, 1},
    Entry{Opcode::Vshr, Action::Shr, 1},          Entry{Opcode::Vmad, Action::Mad, 1},
    Entry{Opcode::Vset, Action::Set, 1},          Entry{Opcode::Vadd2, Action::Add, 2},
    Entry{Opcode::Vsub2, Action::Sub, 2},         Entry{Opcode::Vavrg2, Action::Average, 2},
    Entry{Opcode::Vabsdiff2, Action::AbsDiff, 2}, Entry{Opcode::Vmin2, Action::Min, 2},
    Entry{Opcode::Vmax2, Action::Max, 2},         Entry{Opcode::Vset2, Action::Set, 2},
    Entry{Opcode::Vadd4, Action::Add, 4},         Entry{Opcode::Vsub4, Action::Sub, 4},
    Entry{Opcode::Vavrg4, Action::Average, 4},    Entry{Opcode::Vabsdiff4, Action::AbsDiff, 4},
    Entry{Opcode::Vmin4, Action::Min, 4},         Entry{Opcode::Vmax4, Action::Max, 4},
    Entry{Opcode::Vset4, Action::Set, 4},
};

std::optional<Video> decode(const ptx::Instruction& in) {
  const auto* entry = std::find_if(kTable.begin(), kTable.end(),
                                   [&](const Entry& e) { return e.opcode == in.opcode; });
  if (entry == kTable.end() || in.types.size() < 2) return std::nullopt;
  Video v;
  v.action = entry->action;
  v.lanes = entry->lanes;
  const bool is_set = v.action == Action::Set;
  const auto is_signed = [&](std::size_t i) { return in.types[i] == Type::S32; };
  if (!is_set && in.types.size() != 3) return std::nullopt;
  v.signed_a = is_signed(is_set ? 0 : 1);
  v.signed_b = is_signed(is_set ? 1 : 2);
  v.signed_d = !is_set && is_signed(0);
  v.saturate = in.has(Modifier::Sat);
  v.wrap = in.has(Modifier::Wrap);
  v.shift = in.has(Modifier::Shr7) ? 7 : in.has(Modifier::Shr15) ? 15 : 0;
  if (is_set) {
    const auto comparison = comparison_of(in);
    if (!comparison) return std::nullopt;
    v.comparison = *comparison;
  }
  if (in.has(Modifier::Add)) v.second = Second::Add;
  if (in.has(Modifier::Min)) v.second = Second::Min;
  if (in.has(Modifier::Max)) v.second = Second::Max;
  return v;
}

}  // namespace

bool lower_video(Lowering& lowering, const ptx::Instruction& in) {
  std::optional<Video> v = decode(in);
  const auto& operands = in.operands;
  if (!v || operands.size() < 3) return false;
  for (const ptx::Operand& operand : operands) {
    if (operand.negated) return false;
  }
  v->a = operands[1].part;
  v->b = operands[2].part;
  v->d = operands[0].part;
  if (v->d != Part::Whole) v->second = Second::Merge;
  const Ref a = lowering.source(operands[1], Type::B32);
  const Ref b = lowering.source(operands[2], Type::B32);
  const Ref c = operands.size() > 3 ? lowering.source(operands[3], Type::B32) : a;
  Op& op = lowering.emit(exec_video, CostClass::Integer);
  op.dst = lowering.destination(operands[0], Type::B32);
  op.a = a;
  op.b = b;
  op.c = c;
  op.imm = v->pack();
  return true;
}

}  // namespace cuco::vgpu
