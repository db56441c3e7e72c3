// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.mma, wmma.store (PTX ISA 9.7.14.4).
//
// How elements are spread over registers is the implementation's secret; here element e of the
// row-major matrix lies in register e / (32 p), lane (e / p) % 32, part e % p, where p elements fit
// in a register. f16 factors of m16n16k16 have twice the registers they need: the second half
// repeats the first.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/lower/lowering.h"
#include "vgpu/memory/access.h"
#include "vgpu/numbers/formats.h"
#include "vgpu/tensor/tensor_core.h"

namespace cuco::vgpu {

namespace {

using ptx::Modifier;
using ptx::Type;

struct Shape {
  std::uint8_t m = 16;
  std::uint8_t n = 16;
  std::uint8_t k = 16;
};

std::optional<Shape> shape_of(const ptx::Instruction& in) {
  if (in.has(Modifier::M16n16k16)) return Shape{16, 16, 16};
  if (in.has(Modifier::M32n8k16)) return Shape{32, 8, 16};
  if (in.has(Modifier::M8n32k16)) return Shape{8, 32, 16};
  if (in.has(Modifier::M16n16k8)) return Shape{16, 16, 8};
  if (in.has(Modifier::M8n8k4)) return Shape{8, 8, 4};
  return std::nullopt;
}

/// How many bytes an element has in memory; a register holds 4 (f64: 8).
constexpr unsigned bytes_of(Type type) {
  switch (type) {
    case Type::S8:
    case Type::U8:
      return 1;
    case Type::F16:
    case Type::Bf16:
      return 2;
    case Type::F64:
      return 8;
    default:
      return 4;
  }
}

/// One matrix, row-major, at most 512 elements of at most 4 bytes (or 64 of 8).
using Bytes = std::array<std::byte, 2048>;

struct Matrix {
  unsigned rows = 0;
  unsigned columns = 0;
  unsigned element = 4;  ///< bytes
  [[nodiscard]] unsigned bytes() const { return rows * columns * element; }
};

/// A warp's register is 128 (f64: 256) consecutive bytes of the row-major matrix.
void gather(const Warp& w, const Ref* refs, const Matrix& shape, Bytes& out) {
  const unsigned chunk = shape.element == 8 ? 256 : 128;
  for (unsigned at = 0, r = 0; at < shape.bytes(); at += chunk, ++r) {
    std::memcpy(out.data() + at, w.slots<std::uint32_t>(refs[r]), chunk);
  }
}

void scatter(const Warp& w, const Ref* refs, unsigned count, const Matrix& shape, const Bytes& in) {
  const unsigned chunk = shape.element == 8 ? 256 : 128;
  for (unsigned r = 0; r < count; ++r) {
    const std::byte* from = in.data() + r * chunk % std::max(shape.bytes(), chunk);
    if (shape.element == 8) {
      std::array<std::uint64_t, kLanes> words;
      std::memcpy(words.data(), from, sizeof(words));
      detail::store_lanes<std::uint64_t>(w.slots<std::uint64_t>(refs[r]), w.active,
                                         [&](unsigned l) { return words[l]; });
    } else {
      std::array<std::uint32_t, kLanes> words;
      std::memcpy(words.data(), from, sizeof(words));
      detail::store_lanes<std::uint32_t>(w.slots<std::uint32_t>(refs[r]), w.active,
                                         [&](unsigned l) { return words[l]; });
    }
  }
}

// ---- load and store

/// Op::imm2-like data of an access: the shape travels in the list, before the registers.
struct Access {
  Matrix matrix;
  bool column_major = false;
  unsigned registers = 0;
  const Ref* refs = nullptr;
};

Access access_of(const Warp& w, const Op& op) {
  const Ref* list = w.kernel->refs.data() + op.list;
  return {{list[0], list[1], list[2]}, list[3] != 0, list[4], list + 5};
}

/// Bytes of a line that one instruction brings. From shared memory, ldmatrix takes all. Elsewhere
/// four lanes share a line, each with a register of it, or with two where an accumulator has them
/// side by side.
std::uint32_t piece_bytes(const Access& access, bool shared, std::uint32_t line_bytes) {
  constexpr unsigned kLanesOfLine = 4;
  const Matrix& m = access.matrix;
  const bool accumulator = m.element == 4 && m.rows * m.columns == 256;
  const unsigned lane_bytes = m.element == 8 || accumulator ? 8 : 4;
  return shared ? line_bytes : std::min(line_bytes, kLanesOfLine * lane_bytes);
}

/// Calls f(element, address) in the order of memory; lane 0's pointer and stride count for all.
/// For the books, each lane touches its share of the rows.
template <typename F>
void walk(Warp& w, const Op& op, const Access& access, AccessKind kind, F&& f) {
  const MemoryAux aux = MemoryAux::unpack(op.aux);
  LaneAddresses addresses;
  gather_addresses(w, op, addresses);
  const auto lane = static_cast<unsigned>(std::countr_zero(w.active));
  const Address base = addresses[lane];
  const std::uint64_t stride = w.slots<std::uint32_t>(op.b)[lane];
  const Matrix& m = access.matrix;
  const unsigned lines = access.column_major ? m.columns : m.rows;
  const unsigned length = access.column_major ? m.rows : m.columns;
  const std::uint32_t line_bytes = length * m.element;
  const std::uint32_t all = w.active;
  LaneAddresses starts{};
  for (unsigned i = 0; i < lines; ++i)
    starts[i] = base + i * stride * m.element;
  w.active = lines >= kLanes ? kFullMask : (1U << lines) - 1;
  const bool shared = aux.space == ptx::Space::Shared || is_shared(base);
  const std::uint32_t piece = piece_bytes(access, shared, line_bytes);
  for (std::uint32_t at = 0; at < line_bytes; at += piece) {
    LaneAddresses pieces = starts;
    for (unsigned i = 0; i < lines; ++i)
      pieces[i] += at;
    account(w, op, kind, pieces, std::min(piece, line_bytes - at));
  }
  w.active = all;
  for (unsigned i = 0; i < lines; ++i) {
    for (unsigned j = 0; j < length; ++j) {
      const Address address = starts[i] + j * m.element;
      std::byte* at = resolve(w, op, aux.space, lane, address, m.element);
      if (at == nullptr) return;
      f(access.column_major ? j * m.columns + i : i * m.columns + j, at);
    }
    if (kind == AccessKind::Store) after_write(w, aux.space, starts[i], line_bytes);
  }
}

void exec_load(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Access access = access_of(w, op);
  const unsigned element = access.matrix.element;
  Bytes data{};
  walk(w, op, access, AccessKind::Load, [&](unsigned e, const std::byte* at) {
    std::memcpy(data.data() + std::size_t{e} * element, at, element);
  });
  if (!w.trapped()) scatter(w, access.refs, access.registers, access.matrix, data);
}

void exec_store(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Access access = access_of(w, op);
  const unsigned element = access.matrix.element;
  Bytes data{};
  gather(w, access.refs, access.matrix, data);
  walk(w, op, access, AccessKind::Store, [&](unsigned e, std::byte* at) {
    std::memcpy(at, data.data() + std::size_t{e} * element, element);
  });
}

// ---- mma

/// list: m, n, k, then the first register of A, B, C, D and the lists.
struct Product {
  Shape shape;
  const Ref* a = nullptr;
  const Ref* b = nullptr;
  const Ref* c = nullptr;
  const Ref* d = nullptr;
  unsigned registers = 0;  ///< of D
};

Product product_of(const Warp& w, const Op& op) {
  const Ref* list = w.kernel->refs.data() + op.list;
  Product p;
  p.shape = {static_cast<std::uint8_t>(list[0]), static_cast<std::uint8_t>(list[1]),
             static_cast<std::uint8_t>(list[2])};
  p.a = list + 7;
  p.b = p.a + list[3];
  p.c = p.b + list[4];
  p.d = p.c + list[5];
  p.registers = list[6];
  return p;
}

/// m16n16k8 of tf32 is two steps of K = 4.
void multiply_tf32(const FactorsA& a, const FactorsB& b, const float* c, float* d) {
  std::array<float, 128> between;
  for (unsigned step = 0; step < 2; ++step) {
    FactorsA part_a{};
    FactorsB part_b{};
    for (unsigned row = 0; row < 16; ++row) {
      std::copy_n(a.value.data() + 8 * row + 4 * step, 4, part_a.value.data() + 4 * row);
      std::copy_n(a.power.data() + 8 * row + 4 * step, 4, part_a.power.data() + 4 * row);
    }
    std::copy_n(b.value.data() + 32 * step, 32, part_b.value.data());
    std::copy_n(b.power.data() + 32 * step, 32, part_b.power.data());
    multiply_accumulate(part_a, part_b, 4, step == 0 ? c : between.data(),
                        step == 0 ? between.data() : d);
  }
}

/// Sixteen rows and eight columns at a time: the step of the tensor core. m8n32k16 has 8 rows only,
/// the rest of the step is idle.
template <FactorKind Kind, bool HalfC, bool HalfD>
void exec_float(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Product p = product_of(w, op);
  const unsigned element = Kind == FactorKind::Tf32 ? 4 : 2;
  const auto [m, n, k] = p.shape;
  Bytes ba{};
  Bytes bb{};
  Bytes bc{};
  Bytes bd{};
  gather(w, p.a, {m, k, element}, ba);
  gather(w, p.b, {k, n, element}, bb);
  gather(w, p.c, {m, n, HalfC ? 2U : 4U}, bc);
  const auto get_c = [&](unsigned e) {
    if constexpr (HalfC) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, bc.data() + std::size_t{2} * e, 2);
      return from_f16(bits);
    }
    float value = 0;
    std::memcpy(&value, bc.data() + std::size_t{4} * e, 4);
    return value;
  };
  for (unsigned row = 0; row < m; row += 16) {
    FactorsA a{};
    load_factors(Kind, ba.data() + std::size_t{row} * k * element, std::min(16U, m - row) * k,
                 a.value.data(), a.power.data());
    for (unsigned column = 0; column < n; column += 8) {
      FactorsB b;
      for (unsigned i = 0; i < k; ++i) {
        load_factors(Kind, bb.data() + (std::size_t{i} * n + column) * element, 8,
                     b.value.data() + 8 * i, b.power.data() + 8 * i);
      }
      std::array<float, 128> c{};
      std::array<float, 128> d;
      const unsigned rows = std::min(16U, m - row);
      for (unsigned i = 0; i < 8 * rows; ++i)
        c[i] = get_c((row + i / 8) * n + column + i % 8);
      if (w.sm->timing->native_tensor) {
        multiply_native(a.value.data(), b.value.data(), k, c.data(), d.data());
      } else if constexpr (Kind == FactorKind::Tf32) {
        multiply_tf32(a, b, c.data(), d.data());
      } else if constexpr (HalfD) {
        multiply_accumulate_f16(a, b, k, c.data(), d.data());
      } else {
        multiply_accumulate(a, b, k, c.data(), d.data());
      }
      for (unsigned i = 0; i < 8 * rows; ++i) {
        const unsigned e = (row + i / 8) * n + column + i % 8;
        if constexpr (HalfD) {
          const std::uint16_t bits = to_f16(d[i]);
          std::memcpy(bd.data() + std::size_t{2} * e, &bits, 2);
        } else {
          std::memcpy(bd.data() + std::size_t{4} * e, &d[i], 4);
        }
      }
    }
  }
  scatter(w, p.d, p.registers, {m, n, HalfD ? 2U : 4U}, bd);
}

template <typename T>
void exec_integer(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Product p = product_of(w, op);
  const auto [m, n, k] = p.shape;
  Bytes a{};
  Bytes b{};
  Bytes c{};
  gather(w, p.a, {m, k, 1}, a);
  gather(w, p.b, {k, n, 1}, b);
  gather(w, p.c, {m, n, 4}, c);
  for (unsigned e = 0; e < unsigned{m} * n; ++e) {
    std::int32_t addend = 0;
    std::memcpy(&addend, c.data() + std::size_t{4} * e, 4);
    std::int64_t sum = addend;
    for (unsigned i = 0; i < k; ++i) {
      sum += static_cast<T>(a[e / n * k + i]) * static_cast<T>(b[i * n + e % n]);
    }
    if (op.imm != 0) {
      sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max());
    }
    const auto result = static_cast<std::uint32_t>(sum);
    std::memcpy(c.data() + std::size_t{4} * e, &result, 4);
  }
  scatter(w, p.d, p.registers, {m, n, 4}, c);
}

void exec_double(Warp& w, const Op& op) {
  if (w.meet(op, op.d) == 0) return;
  const Product p = product_of(w, op);
  const auto [m, n, k] = p.shape;
  Bytes a{};
  Bytes b{};
  Bytes c{};
  gather(w, p.a, {m, k, 8}, a);
  gather(w, p.b, {k, n, 8}, b);
  gather(w, p.c, {m, n, 8}, c);
  const auto at = [](const Bytes& bytes, unsigned e) {
    double value = 0;
    std::memcpy(&value, bytes.data() + std::size_t{8} * e, 8);
    return value;
  };
  for (unsigned e = 0; e < unsigned{m} * n; ++e) {
    double sum = at(c, e);
    for (unsigned i = 0; i < k; ++i)
      sum = std::fma(at(a, e / n * k + i), at(b, i * n + e % n), sum);
    const std::uint64_t bits =
        sum == sum ? std::bit_cast<std::uint64_t>(sum) : 0xFFF8'0000'0000'0000U;
    std::memcpy(c.data() + std::size_t{8} * e, &bits, 8);
  }
  scatter(w, p.d, p.registers, {m, n, 8}, c);
}

// ---- lowering

bool append(
    Lowering& lowering, const ptx::Operand& list, Type word, bool to, std::vector<Ref>& refs) {
  if (list.kind != ptx::Operand::Kind::Vector) return false;
  for (const ptx::Operand& element : list.elements) {
    refs.push_back(to ? lowering.destination(element, word) : lowering.source(element, word));
  }
  return true;
}

/// The registers that the matrix takes, at least.
std::uint32_t registers_for(const Matrix& m) {
  return m.element == 8 ? m.bytes() / 256 : (m.bytes() + 127) / 128;
}

bool lower_access(Lowering& lowering, const ptx::Instruction& in, Shape shape) {
  const bool is_load = in.has(Modifier::Load);
  const Type type = in.types.back();
  const auto& operands = in.operands;
  if (operands.size() < 2) return false;
  const bool is_a = in.has(Modifier::A);
  const bool is_b = in.has(Modifier::B);
  const Matrix matrix{is_b ? shape.k : shape.m, is_a ? shape.k : shape.n, bytes_of(type)};
  const bool column_major = in.has(Modifier::Col);
  const ptx::Operand& data = operands[is_load ? 0 : 1];
  std::vector<Ref> refs{matrix.rows, matrix.columns, matrix.element, column_major ? 1U : 0U, 0};
  if (!append(lowering, data, type == Type::F64 ? Type::B64 : Type::B32, is_load, refs)) {
    return false;
  }
  refs[4] = static_cast<Ref>(refs.size() - 5);
  if (refs[4] < registers_for(matrix)) return false;
  const MemoryOperand memory = lowering.memory_operand(operands[is_load ? 1 : 0], type);
  // Without a stride the matrix is dense.
  const Ref stride = operands.size() > 2
                         ? lowering.source(operands[2], Type::B32)
                         : lowering.constant32(column_major ? matrix.rows : matrix.columns);
  const Ref members = lowering.constant32(kFullMask);
  const std::uint32_t start = lowering.list(refs);
  Op& op = lowering.emit(is_load ? exec_load : exec_store, CostClass::Memory);
  memory.apply(op);
  op.b = stride;
  op.d = members;
  op.list = start;
  return true;
}

template <FactorKind Kind>
Handler float_handler(bool half_c, bool half_d) {
  if (half_d) return half_c ? exec_float<Kind, true, true> : exec_float<Kind, false, true>;
  return half_c ? exec_float<Kind, true, false> : exec_float<Kind, false, false>;
}

/// wmma.mma of f16 names D and C only, the others all four.
bool lower_product(Lowering& lowering, const ptx::Instruction& in, Shape shape) {
  if (in.operands.size() != 4 || in.types.size() < 2) return false;
  const Type d = in.types.front();
  const Type c = in.types.back();
  const Type a = in.types.size() == 2 ? Type::F16 : in.types[1];
  Handler handler = nullptr;
  switch (a) {
    case Type::F16:
      handler = float_handler<FactorKind::F16>(c == Type::F16, d == Type::F16);
      break;
    case Type::Bf16:
      handler = float_handler<FactorKind::Bf16>(false, false);
      break;
    case Type::Tf32:
      handler = float_handler<FactorKind::Tf32>(false, false);
      break;
    case Type::S8:
      handler = exec_integer<std::int8_t>;
      break;
    case Type::U8:
      handler = exec_integer<std::uint8_t>;
      break;
    case Type::F64:
      handler = exec_double;
      break;
    default:
      return false;
  }
  const Type word = a == Type::F64 ? Type::B64 : Type::B32;
  std::vector<Ref> refs{shape.m, shape.n, shape.k, 0, 0, 0, 0};
  const std::array<Matrix, 4> matrices{
      Matrix{shape.m, shape.k, bytes_of(a)}, Matrix{shape.k, shape.n, bytes_of(a)},
      Matrix{shape.m, shape.n, bytes_of(c)}, Matrix{shape.m, shape.n, bytes_of(d)}};
  constexpr std::array<unsigned, 4> kOperand{1, 2, 3, 0};
  for (unsigned i = 0; i < 4; ++i) {
    const std::size_t before = refs.size();
    if (!append(lowering, in.operands[kOperand[i]], word, i == 3, refs)) return false;
    refs[3 + i] = static_cast<Ref>(refs.size() - before);
    if (refs[3 + i] < registers_for(matrices[i])) return false;
  }
  const Ref members = lowering.constant32(kFullMask);
  const std::uint32_t start = lowering.list(refs);
  Op& op = lowering.emit(handler, CostClass::Tensor);
  op.d = members;
  op.list = start;
  op.imm = in.has(Modifier::Satfinite) ? 1 : 0;
  return true;
}

}  // namespace

bool lower_wmma(Lowering& lowering, const ptx::Instruction& in) {
  const std::optional<Shape> shape = shape_of(in);
  if (!shape || in.types.empty()) return false;
  if (in.has(Modifier::Mma)) return lower_product(lowering, in, *shape);
  return lower_access(lowering, in, *shape);
}

}  // namespace cuco::vgpu
