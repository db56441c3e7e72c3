// SPDX-License-Identifier: Apache-2.0
// Extended precision (PTX ISA 9.7.2): add.cc addc sub.cc subc mad.cc madc. The carry of each lane
// is a bit of Warp::carry.
#include "vgpu/lower/lowering.h"
#include "vgpu/lower/pick.h"

namespace cuco::vgpu {

namespace {

__extension__ using Uint128 = unsigned __int128;

template <typename T>
using Double = std::conditional_t<sizeof(T) == 4, std::uint64_t, Uint128>;

enum class Kind : std::uint8_t { Add, Sub, MadLo, MadHi };

template <typename T>
T high_product(T a, T b, bool is_signed) {
  using Signed = std::make_signed_t<T>;
  auto high = static_cast<T>((Double<T>{a} * b) >> (8 * sizeof(T)));
  if (is_signed) {  // hi_s = hi_u - (a < 0 ? b : 0) - (b < 0 ? a : 0)
    if (static_cast<Signed>(a) < 0) high = static_cast<T>(high - b);
    if (static_cast<Signed>(b) < 0) high = static_cast<T>(high - a);
  }
  return high;
}

/// aux bit 0: takes the carry in; bit 1: writes it; bit 2: signed product.
template <typename T, Kind K>
void exec_carry(Warp& w, const Op& op) {
  const T* a = w.slots<T>(op.a);
  const T* b = w.slots<T>(op.b);
  const T* c = w.slots<T>(op.c);
  T* d = w.slots<T>(op.dst);
  std::uint32_t carry = w.carry;
  for_active(w.active, [&](unsigned l) {
    const T in = (op.aux & 1U) != 0 ? static_cast<T>(w.carry >> l & 1U) : T{0};
    T x = a[l];
    T y = b[l];
    if (K == Kind::MadLo) {
      x = static_cast<T>(a[l] * b[l]);
      y = c[l];
    } else if (K == Kind::MadHi) {
      x = high_product(a[l], b[l], (op.aux & 4U) != 0);
      y = c[l];
    }
    const Double<T> wide = K == Kind::Sub ? Double<T>{x} - y - in : Double<T>{x} + y + in;
    d[l] = static_cast<T>(wide);
    const auto out = static_cast<std::uint32_t>(wide >> (8 * sizeof(T))) & 1U;
    carry = (carry & ~(1U << l)) | out << l;
  });
  if ((op.aux & 2U) != 0) w.carry = carry;
}

template <typename T>
Handler pick_kind(const ptx::Instruction& in) {
  using ptx::Opcode;
  switch (in.opcode) {
    case Opcode::Add:
    case Opcode::Addc:
      return exec_carry<T, Kind::Add>;
    case Opcode::Sub:
    case Opcode::Subc:
      return exec_carry<T, Kind::Sub>;
    case Opcode::Mad:
    case Opcode::Madc:
      return in.has(ptx::Modifier::Hi) ? exec_carry<T, Kind::MadHi> : exec_carry<T, Kind::MadLo>;
    default:
      return nullptr;
  }
}

}  // namespace

bool lower_carry(Lowering& lowering, const ptx::Instruction& in) {
  using ptx::Opcode;
  if (in.types.empty() || in.operands.size() < 3) return false;
  const ptx::Type type = in.types[0];
  if (!is_integer(type) || ptx::size_of(type) < 4) return false;
  const bool wide = ptx::size_of(type) == 8;
  const Handler handler = wide ? pick_kind<std::uint64_t>(in) : pick_kind<std::uint32_t>(in);
  if (handler == nullptr) return false;
  const bool takes =
      in.opcode == Opcode::Addc || in.opcode == Opcode::Subc || in.opcode == Opcode::Madc;
  const bool is_signed = type == ptx::Type::S32 || type == ptx::Type::S64;
  const Ref dst = lowering.destination(in.operands[0], type);
  const Ref a = lowering.source(in.operands[1], type);
  const Ref b = lowering.source(in.operands[2], type);
  const Ref c = in.operands.size() > 3 ? lowering.source(in.operands[3], type) : kScratch;
  Op& op = lowering.emit(handler, integer_cost(type));
  op.dst = dst;
  op.a = a;
  op.b = b;
  op.c = c;
  op.aux = (takes ? 1U : 0U) | (in.has(ptx::Modifier::Cc) ? 2U : 0U) | (is_signed ? 4U : 0U);
  return true;
}

}  // namespace cuco::vgpu
