// SPDX-License-Identifier: Apache-2.0
// Moves (PTX ISA 9.7.9): mov with packing and unpacking, cvta, isspacep; special registers (10).
#include <algorithm>
#include <array>

#include "ptx/flow/loop_exit.h"
#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/gpu/plain_spin.h"
#include "vgpu/lower/kernel_builder.h"
#include "vgpu/lower/lowering.h"

namespace cuco::vgpu {

namespace {

using Kind = ptx::Operand::Kind;
using Wide = std::array<std::uint64_t, 2>;

template <typename S>
void exec_mov(Warp& w, const Op& op) {
  const S* a = w.slots<S>(op.a);
  detail::store_lanes<S>(w.slots<S>(op.dst), w.active, [&](unsigned l) { return a[l]; });
}

void exec_mov_predicate(Warp& w, const Op& op) {
  w.set_predicate(op.dst, w.predicate(op.a));
}

/// One element of a register: bits [imm, imm + bits of E) of a.
template <typename S, typename D, typename E>
void exec_extract(Warp& w, const Op& op) {
  const S* a = w.slots<S>(op.a);
  const auto shift = static_cast<std::uint32_t>(op.imm);
  detail::store_lanes<D>(w.slots<D>(op.dst), w.active, [&](unsigned l) {
    if constexpr (sizeof(S) == 16) {
      return static_cast<D>(static_cast<E>(a[l][shift / 64] >> (shift % 64)));
    } else {
      return static_cast<D>(static_cast<E>(a[l] >> shift));
    }
  });
}

/// Builds a register of element bits E from the refs in the list, lowest first.
template <typename D, typename S, typename E>
void exec_pack(Warp& w, const Op& op) {
  const Ref* refs = w.kernel->refs.data() + op.list;
  const auto count = static_cast<unsigned>(op.imm);
  std::array<const S*, 16> parts{};
  for (unsigned i = 0; i < count; ++i)
    parts[i] = w.slots<S>(refs[i]);
  D* d = w.slots<D>(op.dst);
  for_active(w.active, [&](unsigned l) {
    Wide value{};
    for (unsigned i = 0; i < count; ++i) {
      const unsigned bit = i * 8 * sizeof(E);
      value[bit / 64] |= std::uint64_t{static_cast<E>(parts[i][l])} << (bit % 64);
    }
    if constexpr (sizeof(D) == 16)
      d[l] = value;
    else
      d[l] = static_cast<D>(value[0]);
  });
}

/// cvta: adds or removes the window's base (imm). A null pointer is not special in PTX.
template <typename D, typename S>
void exec_convert_address(Warp& w, const Op& op) {
  const S* a = w.slots<S>(op.a);
  detail::store_lanes<D>(w.slots<D>(op.dst), w.active,
                         [&](unsigned l) { return static_cast<D>(a[l] + op.imm); });
}

void exec_convert_parameter(Warp& w, const Op& op) {
  const std::uint64_t* a = w.slots<std::uint64_t>(op.a);
  const Address base = op.aux != 0 ? w.grid->parameters : 0 - w.grid->parameters;
  detail::store_lanes<std::uint64_t>(w.slots<std::uint64_t>(op.dst), w.active,
                                     [&](unsigned l) { return a[l] + base; });
}

/// aux: ptx::Space asked about.
void exec_isspacep(Warp& w, const Op& op) {
  const std::uint64_t* a = w.slots<std::uint64_t>(op.a);
  std::uint32_t result = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    bool inside = false;
    switch (static_cast<ptx::Space>(op.aux)) {
      case ptx::Space::Shared:
        inside = is_shared(a[l]);
        break;
      case ptx::Space::Local:
        inside = is_local(a[l]);
        break;
      case ptx::Space::Param:
        inside = a[l] - w.grid->parameters < 4096;
        break;
      case ptx::Space::Const:
        inside = w.grid->request.program->is_constant(a[l]);
        break;
      case ptx::Space::Global:
        inside = !is_shared(a[l]) && !is_local(a[l]) && !w.grid->request.program->is_constant(a[l]);
        break;
      default:
        break;
    }
    result |= (inside ? 1U : 0U) << l;
  }
  w.set_predicate(op.dst, result);
}

// Special registers.

template <typename S>
void broadcast(Warp& w, const Op& op, std::uint64_t value) {
  detail::store_lanes<S>(w.slots<S>(op.dst), w.active,
                         [&](unsigned) { return static_cast<S>(value); });
}

using SR = ptx::SpecialRegister;

template <typename S, unsigned Axis>
void exec_tid(Warp& w, const Op& op) {
  const auto* tid = reinterpret_cast<const std::uint32_t*>(w.grid->thread_indices.data()) +
                    (w.index * 3 + Axis) * kLanes;
  detail::store_lanes<S>(w.slots<S>(op.dst), w.active,
                         [&](unsigned l) { return static_cast<S>(tid[l]); });
}

template <typename S>
void exec_laneid(Warp& w, const Op& op) {
  detail::store_lanes<S>(w.slots<S>(op.dst), w.active, [&](unsigned l) { return S{l}; });
}

template <typename S, SR Which>
void exec_lanemask(Warp& w, const Op& op) {
  detail::store_lanes<S>(w.slots<S>(op.dst), w.active, [&](unsigned l) {
    const std::uint32_t bit = 1U << l;
    switch (Which) {
      case SR::LanemaskLt:
        return S{bit - 1};
      case SR::LanemaskLe:
        return S{bit | (bit - 1)};
      case SR::LanemaskGt:
        return S{~(bit | (bit - 1))};
      case SR::LanemaskGe:
        return S{~(bit - 1)};
      default:
        return S{bit};
    }
  });
}

/// Clocks count cycles or nanoseconds of virtual time; reading one marks the loop around it. With
/// `aux` the loop may be a delay.
template <typename S, SR Which>
void exec_clock(Warp& w, const Op& op) {
  w.sync_clock();
  w.reads_clock = true;
  if (op.aux != 0) note_clock_read(w);
  const auto cycles = static_cast<std::uint64_t>(w.clock / w.sm->timing->cycle);
  // The global timer starts from a fixed date, as a wall clock would.
  const std::uint64_t nanoseconds =
      1'700'000'000'000'000'000ULL + static_cast<std::uint64_t>(w.clock / kNanosecond);
  switch (Which) {
    case SR::ClockHi:
      broadcast<S>(w, op, cycles >> 32U);
      break;
    case SR::Globaltimer:
      broadcast<S>(w, op, nanoseconds);
      break;
    case SR::GlobaltimerLo:
      broadcast<S>(w, op, nanoseconds & 0xFFFF'FFFFU);
      break;
    case SR::GlobaltimerHi:
      broadcast<S>(w, op, nanoseconds >> 32U);
      break;
    default:
      broadcast<S>(w, op, cycles);
      break;
  }
}

std::uint64_t uniform_value(const Warp& w, SR special) {
  const Grid& grid = *w.grid;
  const Block& block = *w.block;
  const std::uint64_t workspace = grid.parameters + kWorkspaceOffset;
  switch (special) {
    case SR::NtidX:
      return grid.request.block[0];
    case SR::NtidY:
      return grid.request.block[1];
    case SR::NtidZ:
      return grid.request.block[2];
    case SR::CtaidX:
    case SR::ClusteridX:
      return block.index[0];
    case SR::CtaidY:
    case SR::ClusteridY:
      return block.index[1];
    case SR::CtaidZ:
    case SR::ClusteridZ:
      return block.index[2];
    case SR::NctaidX:
    case SR::NclusteridX:
      return grid.request.grid[0];
    case SR::NctaidY:
    case SR::NclusteridY:
      return grid.request.grid[1];
    case SR::NctaidZ:
    case SR::NclusteridZ:
      return grid.request.grid[2];
    case SR::Warpid:
      return w.index;
    case SR::Nwarpid:
      return grid.warps_per_block;
    case SR::Smid:
      return w.sm->index;
    case SR::Nsmid:
      return grid.sms;
    case SR::Gridid:
      return grid.id;
    case SR::TotalSmemSize:
    case SR::AggrSmemSize:
      return grid.shared_bytes;
    case SR::DynamicSmemSize:
      return grid.request.dynamic_shared;
    // Cooperative groups find the grid barrier's workspace here: high and low word.
    case SR::Envreg1:
      return grid.request.cooperative ? workspace >> 32U : 0;
    case SR::Envreg2:
      return grid.request.cooperative ? workspace & 0xFFFF'FFFFU : 0;
    // Without clusters a block is a cluster of one.
    case SR::ClusterNctaidX:
    case SR::ClusterNctaidY:
    case SR::ClusterNctaidZ:
    case SR::ClusterNctarank:
      return 1;
    default:
      return 0;
  }
}

template <typename S, SR Which>
void exec_uniform(Warp& w, const Op& op) {
  broadcast<S>(w, op, uniform_value(w, Which));
}

template <typename S>
Handler special_handler(SR special) {
  switch (special) {
    case SR::TidX:
      return exec_tid<S, 0>;
    case SR::TidY:
      return exec_tid<S, 1>;
    case SR::TidZ:
      return exec_tid<S, 2>;
    case SR::Laneid:
      return exec_laneid<S>;
#define CUCO_CASE(family, name) \
  case SR::name:                \
    return exec_##family<S, SR::name>;
      // clang-format off
    CUCO_CASE(lanemask, LanemaskEq) CUCO_CASE(lanemask, LanemaskLe)
    CUCO_CASE(lanemask, LanemaskLt) CUCO_CASE(lanemask, LanemaskGe)
    CUCO_CASE(lanemask, LanemaskGt)
    CUCO_CASE(clock, Clock) CUCO_CASE(clock, ClockHi) CUCO_CASE(clock, Clock64)
    CUCO_CASE(clock, Globaltimer) CUCO_CASE(clock, GlobaltimerLo) CUCO_CASE(clock, GlobaltimerHi)
    CUCO_CASE(uniform, NtidX) CUCO_CASE(uniform, NtidY) CUCO_CASE(uniform, NtidZ)
    CUCO_CASE(uniform, CtaidX) CUCO_CASE(uniform, CtaidY) CUCO_CASE(uniform, CtaidZ)
    CUCO_CASE(uniform, NctaidX) CUCO_CASE(uniform, NctaidY) CUCO_CASE(uniform, NctaidZ)
    CUCO_CASE(uniform, Warpid) CUCO_CASE(uniform, Nwarpid) CUCO_CASE(uniform, Smid)
    CUCO_CASE(uniform, Nsmid) CUCO_CASE(uniform, Gridid) CUCO_CASE(uniform, TotalSmemSize)
    CUCO_CASE(uniform, AggrSmemSize) CUCO_CASE(uniform, DynamicSmemSize)
    CUCO_CASE(uniform, Envreg0) CUCO_CASE(uniform, Envreg1) CUCO_CASE(uniform, Envreg2)
    CUCO_CASE(uniform, Envreg3) CUCO_CASE(uniform, IsExplicitCluster)
    CUCO_CASE(uniform, ClusteridX) CUCO_CASE(uniform, ClusteridY) CUCO_CASE(uniform, ClusteridZ)
    CUCO_CASE(uniform, NclusteridX) CUCO_CASE(uniform, NclusteridY)
    CUCO_CASE(uniform, NclusteridZ) CUCO_CASE(uniform, ClusterCtaidX)
    CUCO_CASE(uniform, ClusterCtaidY) CUCO_CASE(uniform, ClusterCtaidZ)
    CUCO_CASE(uniform, ClusterNctaidX) CUCO_CASE(uniform, ClusterNctaidY)
    CUCO_CASE(uniform, ClusterNctaidZ) CUCO_CASE(uniform, ClusterCtarank)
    CUCO_CASE(uniform, ClusterNctarank) CUCO_CASE(uniform, CurrentGraphExec)
      // clang-format on
#undef CUCO_CASE
                                                                          default : return nullptr;
  }
}

// Lowering.

bool is_clock(SR special) {
  switch (special) {
    case SR::Clock:
    case SR::ClockHi:
    case SR::Clock64:
    case SR::Globaltimer:
    case SR::GlobaltimerLo:
    case SR::GlobaltimerHi:
      return true;
    default:
      return false;
  }
}

bool lower_mov_special(Lowering& lowering, const ptx::Instruction& in, ptx::Type type) {
  const Handler handler =
      special_register_handler(in.operands[1].special, Lowering::slot_bytes(type));
  const Ref dst = lowering.destination(in.operands[0], type);
  if (handler == nullptr) {
    lowering.fail(std::string(ptx::spelling(in.operands[1].special)));
    return false;
  }
  Op& op = lowering.emit(handler, CostClass::Move);
  op.dst = dst;
  op.aux = is_clock(in.operands[1].special) &&
                   ptx::decides_loop(lowering.function(), lowering.instruction_index())
               ? 1
               : 0;
  return true;
}

/// mov.b64 {a, b}, c: one extraction per element.
bool lower_unpack(Lowering& lowering, const ptx::Instruction& in, ptx::Type type) {
  const auto& elements = in.operands[0].elements;
  const std::uint32_t bytes = ptx::size_of(type);
  if (elements.empty() || bytes % elements.size() != 0) return false;
  const auto part = static_cast<std::uint32_t>(bytes / elements.size());
  const Ref a = lowering.source(in.operands[1], type);
  using U8 = std::uint8_t;
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  // The source may be one of the destinations: all parts go through temporaries first.
  std::vector<std::pair<Ref, Ref>> copies;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].kind == Kind::None) continue;
    Handler handler = nullptr;
    if (bytes == 2 && part == 1) handler = exec_extract<U32, U32, U8>;
    if (bytes == 4 && part == 1) handler = exec_extract<U32, U32, U8>;
    if (bytes == 4 && part == 2) handler = exec_extract<U32, U32, U16>;
    if (bytes == 8 && part == 1) handler = exec_extract<U64, U32, U8>;
    if (bytes == 8 && part == 2) handler = exec_extract<U64, U32, U16>;
    if (bytes == 8 && part == 4) handler = exec_extract<U64, U32, U32>;
    if (bytes == 16 && part == 4) handler = exec_extract<Wide, U32, U32>;
    if (bytes == 16 && part == 8) handler = exec_extract<Wide, U64, U64>;
    if (handler == nullptr) return false;
    const ptx::Type as = part == 8 ? ptx::Type::B64 : ptx::Type::B32;
    const Ref dst = lowering.destination(elements[i], as);
    const bool last = i + 1 == elements.size();
    const Ref target = dst == a && !last ? lowering.temporary(4) : dst;
    if (target != dst) copies.emplace_back(dst, target);
    Op& op = lowering.emit(handler, CostClass::Move);
    op.dst = target;
    op.a = a;
    op.imm = i * part * 8;
  }
  for (const auto& [dst, from] : copies) {
    Op& op = lowering.emit(exec_mov<U32>, CostClass::Move);
    op.dst = dst;
    op.a = from;
  }
  return true;
}

/// mov.b64 c, {a, b}
bool lower_pack(Lowering& lowering, const ptx::Instruction& in, ptx::Type type) {
  const auto& elements = in.operands[1].elements;
  const std::uint32_t bytes = ptx::size_of(type);
  if (elements.empty() || elements.size() > 16 || bytes % elements.size() != 0) return false;
  const auto part = static_cast<std::uint32_t>(bytes / elements.size());
  using U8 = std::uint8_t;
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  Handler handler = nullptr;
  if (bytes <= 4 && part == 1) handler = exec_pack<U32, U32, U8>;
  if (bytes == 4 && part == 2) handler = exec_pack<U32, U32, U16>;
  if (bytes == 8 && part == 1) handler = exec_pack<U64, U32, U8>;
  if (bytes == 8 && part == 2) handler = exec_pack<U64, U32, U16>;
  if (bytes == 8 && part == 4) handler = exec_pack<U64, U32, U32>;
  if (bytes == 16 && part == 4) handler = exec_pack<Wide, U32, U32>;
  if (bytes == 16 && part == 8) handler = exec_pack<Wide, U64, U64>;
  if (handler == nullptr) return false;
  std::vector<Ref> refs;
  for (const ptx::Operand& element : elements) {
    refs.push_back(lowering.source(element, part == 8 ? ptx::Type::B64 : ptx::Type::B32));
  }
  const Ref dst = lowering.destination(in.operands[0], type);
  const std::uint32_t list = lowering.list(refs);
  Op& op = lowering.emit(handler, CostClass::Move);
  op.dst = dst;
  op.list = list;
  op.imm = refs.size();
  return true;
}

bool lower_mov(Lowering& lowering, const ptx::Instruction& in) {
  if (in.operands.size() != 2 || in.types.empty()) return false;
  const ptx::Type type = in.types[0];
  if (type == ptx::Type::Pred) {
    const Ref dst = lowering.predicate_destination(in.operands[0]);
    const Ref a = lowering.source_predicate(in.operands[1]);
    Op& op = lowering.emit(exec_mov_predicate, CostClass::Move);
    op.dst = dst;
    op.a = a;
    return true;
  }
  if (in.operands[0].kind == Kind::Vector) return lower_unpack(lowering, in, type);
  if (in.operands[1].kind == Kind::Vector) return lower_pack(lowering, in, type);
  if (in.operands[1].kind == Kind::Special) return lower_mov_special(lowering, in, type);
  const std::uint32_t bytes = Lowering::slot_bytes(type);
  const Ref dst = lowering.destination(in.operands[0], type);
  const Ref a = lowering.source(in.operands[1], type);
  Op& op = lowering.emit(bytes == 16  ? exec_mov<Wide>
                         : bytes == 8 ? exec_mov<std::uint64_t>
                                      : exec_mov<std::uint32_t>,
                         CostClass::Move);
  op.dst = dst;
  op.a = a;
  return true;
}

bool lower_cvta(Lowering& lowering, const ptx::Instruction& in) {
  if (in.operands.size() != 2 || in.types.empty()) return false;
  const ptx::Space space = Lowering::memory_aux(in).space;
  const bool to = in.has(ptx::Modifier::To);
  const ptx::Type type = in.types[0];
  const bool wide = ptx::size_of(type) == 8;
  if (!wide) return false;  // 32-bit generic addresses do not exist on a 64-bit machine.
  const Ref dst = lowering.destination(in.operands[0], type);
  const Ref a = lowering.source(in.operands[1], type);
  if (space == ptx::Space::Param) {
    Op& op = lowering.emit(exec_convert_parameter, CostClass::Integer);
    op.dst = dst;
    op.a = a;
    op.aux = to ? 0 : 1;
    return true;
  }
  std::uint64_t base = 0;
  if (space == ptx::Space::Shared) base = kSharedWindow;
  if (space == ptx::Space::Local) base = kLocalWindow;
  Op& op = base == 0 ? lowering.emit(exec_mov<std::uint64_t>, CostClass::Move)
                     : lowering.emit(exec_convert_address<std::uint64_t, std::uint64_t>,
                                     CostClass::Integer);
  op.dst = dst;
  op.a = a;
  op.imm = to ? 0 - base : base;
  return true;
}

bool lower_isspacep(Lowering& lowering, const ptx::Instruction& in) {
  if (in.operands.size() != 2) return false;
  const Ref dst = lowering.predicate_destination(in.operands[0]);
  const Ref a = lowering.source(in.operands[1], ptx::Type::U64);
  Op& op = lowering.emit(exec_isspacep, CostClass::Integer);
  op.dst = dst;
  op.a = a;
  op.aux = static_cast<std::uint32_t>(Lowering::memory_aux(in).space);
  return true;
}

}  // namespace

Handler special_register_handler(ptx::SpecialRegister special, std::uint32_t bytes) {
  if (bytes == 4) return special_handler<std::uint32_t>(special);
  if (bytes == 8) return special_handler<std::uint64_t>(special);
  return nullptr;
}

void exec_frame_address(Warp& w, const Op& op) {
  const std::uint64_t value = w.splits[w.current].frame->local_base + op.imm;
  if (op.aux == 4)
    broadcast<std::uint32_t>(w, op, value);
  else
    broadcast<std::uint64_t>(w, op, value);
}

bool lower_move(Lowering& lowering, const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::Mov:
      return lower_mov(lowering, in);
    case ptx::Opcode::Cvta:
      return lower_cvta(lowering, in);
    case ptx::Opcode::Isspacep:
      return lower_isspacep(lowering, in);
    default:
      return false;
  }
}

}  // namespace cuco::vgpu
