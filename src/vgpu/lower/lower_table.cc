// SPDX-License-Identifier: Apache-2.0
// Which family lowers which opcode. The one place where families meet.
#include "vgpu/lower/kernel_builder.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/lower/pick.h"
#include "vgpu/memory/mbarrier.h"

namespace cuco::vgpu {

namespace {

bool is_half(const ptx::Instruction& in) {
  if (in.types.empty()) return false;
  const ptx::Type type = in.types.back();
  return type == ptx::Type::F16 || type == ptx::Type::Bf16 || type == ptx::Type::F16x2 ||
         type == ptx::Type::Bf16x2;
}

/// Approximations, and everything of f32/f64 that is rounded as IEEE says.
LowerFunction division(const ptx::Instruction& in) {
  const bool approximate = in.has(ptx::Modifier::Approx) || in.has(ptx::Modifier::Full);
  return approximate ? lower_special : lower_float;
}

/// Arithmetic opcodes exist for integers, f32/f64 and packed halves.
LowerFunction arithmetic(const ptx::Instruction& in) {
  if (in.types.empty()) return nullptr;
  const ptx::Type type = in.types[0];
  if (in.has(ptx::Modifier::Cc)) return lower_carry;
  if (is_half(in)) return lower_half;
  if (in.opcode == ptx::Opcode::Div && !is_integer(type)) return division(in);
  if (is_integer(type) || type == ptx::Type::U16x2 || type == ptx::Type::S16x2) {
    return lower_integer;
  }
  if (type == ptx::Type::F32 || type == ptx::Type::F64) return lower_float;
  return nullptr;
}

}  // namespace

LowerFunction family_of(const ptx::Instruction& in) {
  using ptx::Opcode;
  switch (in.opcode) {
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::Mad:
    case Opcode::Fma:
    case Opcode::Div:
    case Opcode::Min:
    case Opcode::Max:
    case Opcode::Abs:
    case Opcode::Neg:
      return arithmetic(in);
    case Opcode::Mul24:
    case Opcode::Mad24:
    case Opcode::Sad:
    case Opcode::Rem:
    case Opcode::Dp4a:
    case Opcode::Dp2a:
      return lower_integer;
    case Opcode::Sqrt:
    case Opcode::Rcp:
      return division(in);
    case Opcode::Rsqrt:
    case Opcode::Ex2:
    case Opcode::Lg2:
    case Opcode::Sin:
    case Opcode::Cos:
    case Opcode::Tanh:
      return lower_special;
    case Opcode::Copysign:
    case Opcode::Testp:
      return lower_float;
    case Opcode::Addc:
    case Opcode::Subc:
    case Opcode::Madc:
      return lower_carry;
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::Not:
    case Opcode::Cnot:
    case Opcode::Lop3:
    case Opcode::Shl:
    case Opcode::Shr:
    case Opcode::Shf:
    case Opcode::Bfe:
    case Opcode::Bfi:
    case Opcode::Bfind:
    case Opcode::Fns:
    case Opcode::Brev:
    case Opcode::Clz:
    case Opcode::Popc:
    case Opcode::Prmt:
    case Opcode::Bmsk:
    case Opcode::Szext:
      return lower_logic;
    case Opcode::Setp:
    case Opcode::Set:
      return is_half(in) ? lower_half : lower_compare;
    case Opcode::Selp:
    case Opcode::Slct:
      return lower_compare;
    case Opcode::Mov:
    case Opcode::Cvta:
    case Opcode::Isspacep:
      return lower_move;
    case Opcode::Ld:
    case Opcode::Ldu:
    case Opcode::St:
      return lower_memory;
    case Opcode::Bra:
    case Opcode::Brx:
    case Opcode::Exit:
    case Opcode::Ret:
    case Opcode::Trap:
    case Opcode::Brkpt:
    case Opcode::Pmevent:
    case Opcode::Nanosleep:
    case Opcode::Griddepcontrol:
    case Opcode::Setmaxnreg:
      return lower_control;
    case Opcode::Call:
      return lower_call;
    case Opcode::Bar:
    case Opcode::Barrier:
    case Opcode::Membar:
    case Opcode::Fence:
      return lower_barrier;
    case Opcode::Shfl:
    case Opcode::Vote:
    case Opcode::Match:
    case Opcode::Redux:
    case Opcode::Activemask:
    case Opcode::Elect:
      return lower_warp;
    case Opcode::Cvt:
      return lower_convert;
    case Opcode::Atom:
    case Opcode::Red:
      return lower_atomic;
    case Opcode::Ldmatrix:
    case Opcode::Stmatrix:
    case Opcode::Movmatrix:
      return lower_matrix;
    case Opcode::Mma:
      return lower_mma;
    case Opcode::Wmma:
      return lower_wmma;
    case Opcode::Cp:
      return lower_async;
    case Opcode::Mbarrier:
      return lower_mbarrier;
    case Opcode::Multimem:
      return lower_multimem;
    case Opcode::Prefetch:
    case Opcode::Prefetchu:
    case Opcode::Discard:
    case Opcode::Applypriority:
    case Opcode::Createpolicy:
      return lower_hint;
    case Opcode::Vadd:
    case Opcode::Vsub:
    case Opcode::Vabsdiff:
    case Opcode::Vmin:
    case Opcode::Vmax:
    case Opcode::Vshl:
    case Opcode::Vshr:
    case Opcode::Vmad:
    case Opcode::Vset:
    case Opcode::Vadd2:
    case Opcode::Vsub2:
    case Opcode::Vavrg2:
    case Opcode::Vabsdiff2:
    case Opcode::Vmin2:
    case Opcode::Vmax2:
    case Opcode::Vset2:
    case Opcode::Vadd4:
    case Opcode::Vsub4:
    case Opcode::Vavrg4:
    case Opcode::Vabsdiff4:
    case Opcode::Vmin4:
    case Opcode::Vmax4:
    case Opcode::Vset4:
      return lower_video;
    default:
      return nullptr;
  }
}

}  // namespace cuco::vgpu
