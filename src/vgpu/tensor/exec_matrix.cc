// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements between shared memory and the
// registers of a warp (PTX ISA 9.7.14.5.15 to 9.7.14.5.17).
//
// Row r of matrix i is at the address of lane 8i + r. In registers, lane 4r + t holds columns 2t
// and 2t + 1 of row r: a register of the warp is the matrix, row by row.
#include <array>
#include <cstring>
#include <vector>

#include "vgpu/exec/exec.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/lane_memory.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

using Matrix = std::array<std::uint16_t, 64>;

constexpr std::uint32_t kRowBytes = 16;

Matrix transpose(const Matrix& m) {
  Matrix out;
  for (unsigned r = 0; r < 8; ++r) {
    for (unsigned c = 0; c < 8; ++c)
      out[8 * c + r] = m[8 * r + c];
  }
  return out;
}

void put(const Warp& w, Ref ref, const Matrix& m) {
  std::array<std::uint32_t, kLanes> words;
  std::memcpy(words.data(), m.data(), sizeof(words));
  detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(ref), w.active,
                                     [&](unsigned l) { return words[l]; });
}

Matrix get(const Warp& w, Ref ref) {
  Matrix m;
  std::memcpy(m.data(), w.slots<std::uint32_t>(ref), sizeof(m));
  return m;
}

constexpr std::uint32_t lanes_of(unsigned count) {
  return count == 4 ? kFullMask : (1U << (8 * count)) - 1;
}

/// The lanes whose addresses count, as the active ones while memory is accounted for.
template <typename F>
void with_rows(Warp& w, unsigned count, F&& f) {
  const std::uint32_t all = w.active;
  w.active = all & lanes_of(count);
  f();
  w.active = all;
}

/// aux.user: number of matrices, and bit 7 for .trans.
void exec_load_matrix(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  const unsigned count = aux.user & 7U;
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  with_rows(w, count, [&] { account(w, op, AccessKind::Load, addresses, kRowBytes); });
  const Ref* refs = w.kernel->refs.data() + op.list;
  std::array<Matrix, 4> matrices;
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned r = 0; r < 8; ++r) {
      const unsigned lane = 8 * i + r;
      const std::byte* from = lane_memory(w, op, aux.space, lane, addresses[lane], kRowBytes);
      if (from == nullptr) return;
      std::memcpy(matrices[i].data() + 8 * r, from, kRowBytes);
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    put(w, refs[i], (aux.user & 0x80U) != 0 ? transpose(matrices[i]) : matrices[i]);
  }
}

void exec_store_matrix(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  const unsigned count = aux.user & 7U;
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  with_rows(w, count, [&] { account(w, op, AccessKind::Store, addresses, kRowBytes); });
  const Ref* refs = w.kernel->refs.data() + op.list;
  for (unsigned i = 0; i < count; ++i) {
    const Matrix plain = get(w, refs[i]);
    const Matrix m = (aux.user & 0x80U) != 0 ? transpose(plain) : plain;
    for (unsigned r = 0; r < 8; ++r) {
      const unsigned lane = 8 * i + r;
      std::byte* to = lane_memory(w, op, aux.space, lane, addresses[lane], kRowBytes);
      if (to == nullptr) return;
      std::memcpy(to, m.data() + 8 * r, kRowBytes);
      after_write(w, aux.space, addresses[lane], kRowBytes);
    }
  }
}

void exec_move_matrix(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  put(w, op.dst, transpose(get(w, op.a)));
}

}  // namespace

bool lower_matrix(Lowering& lowering, const ptx::Instruction& in) {
  if (in.operands.size() != 2) return false;
  const Ref members = lowering.constant32(kFullMask);
  if (in.opcode == Opcode::Movmatrix) {
    const Ref a = lowering.source(in.operands[1], Type::B32);
    Op& op = lowering.emit(exec_move_matrix, CostClass::Shared);
    op.dst = lowering.destination(in.operands[0], Type::B32);
    op.a = a;
    op.d = members;
    return true;
  }
  if (!in.has(Modifier::M8n8) || in.types.empty() || in.types[0] != Type::B16) return false;
  const bool is_load = in.opcode == Opcode::Ldmatrix;
  const ptx::Operand& data = in.operands[is_load ? 0 : 1];
  const bool is_vector = data.kind == ptx::Operand::Kind::Vector;
  std::vector<Ref> refs;
  for (std::size_t i = 0; i < (is_vector ? data.elements.size() : 1); ++i) {
    const ptx::Operand& element = is_vector ? data.elements[i] : data;
    refs.push_back(is_load ? lowering.destination(element, Type::B32)
                           : lowering.source(element, Type::B32));
  }
  const std::size_t wanted = in.has(Modifier::X4) ? 4 : in.has(Modifier::X2) ? 2 : 1;
  if (refs.size() != wanted) return false;
  MemoryOperand memory = lowering.memory_operand(in.operands[is_load ? 1 : 0], Type::B128);
  memory.aux.user = static_cast<std::uint8_t>(wanted | (in.has(Modifier::Trans) ? 0x80U : 0U));
  const std::uint32_t start = lowering.list(refs);
  Op& op = lowering.emit(is_load ? exec_load_matrix : exec_store_matrix, CostClass::Shared);
  memory.apply(op);
  op.list = start;
  op.d = members;
  return true;
}

}  // namespace cuco::vgpu
