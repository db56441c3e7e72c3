// SPDX-License-Identifier: Apache-2.0
// Superinstructions: the inner loop of tiled kernels is ld.shared, ld.shared, fma, over and over.
// With 32 lanes and the usual address patterns, the operands go from shared memory into the product
// without passing through registers, and a chain of products keeps its sum in vector registers.
// Costs and counts are those of the single ops, because the time model works on ranges of ops.
#include <array>
#include <cstdint>

#include <immintrin.h>

#include "vgpu/exec/fused.h"
#include "vgpu/gpu/warp.h"
#include "vgpu/memory/patterns.h"

namespace cuco::vgpu {

namespace {

constexpr unsigned kVectors = kLanes / 8;
struct Lanes {
  __m256 v[kVectors];
};

/// Op::list of a sequence's first op.
enum Sequence : std::uint32_t {
  KeepFirst = 1,   ///< The first load's register is read later.
  KeepSecond = 2,  ///< The second one's is.
  Chained = 4,     ///< The sum is only wanted by the sequence that follows at once.
};

/// Where the 32 values of a shared load lie: in a row, or all at one place. Null: elsewhere.
struct Source {
  const float* values = nullptr;
  bool row = false;
};

[[gnu::always_inline]] inline Source source_of(Warp& w, const Op& load) {
  const auto* a =
      reinterpret_cast<const std::uint32_t*>(w.bank[load.a >> 31U] + (load.a & ~kConstantBit));
  const Pattern pattern = known_pattern<std::uint32_t>(w, load, a, 4);
  if (pattern == Pattern::Other) return {};
  const std::uint32_t first = a[0] + static_cast<std::uint32_t>(load.imm);
  const bool row = pattern == Pattern::Consecutive;
  const std::uint32_t bytes = row ? 4 * kLanes : 4;
  if (first % 4 != 0 || first >= w.shared_bytes || bytes > w.shared_bytes - first) return {};
  return {reinterpret_cast<const float*>(w.shared + first), row};
}

[[gnu::always_inline]] inline __m256 take(const Source& source, unsigned v) {
  return source.row ? _mm256_loadu_ps(source.values + 8 * v) : _mm256_broadcast_ss(source.values);
}

float* lanes_of(const Warp& w, Ref ref) {
  return reinterpret_cast<float*>(w.bank[ref >> 31U] + (ref & ~kConstantBit));
}

/// sum += x * y, with x and y from where they lie. The pattern is chosen outside of the loop.
[[gnu::always_inline]] inline void add_products(Lanes& sum, const Source& x, const Source& y) {
  if (x.row != y.row) {
    const __m256 one = _mm256_broadcast_ss(x.row ? y.values : x.values);
    const float* many = x.row ? x.values : y.values;
    for (unsigned v = 0; v < kVectors; ++v)
      sum.v[v] = _mm256_fmadd_ps(one, _mm256_loadu_ps(many + 8 * v), sum.v[v]);
    return;
  }
  for (unsigned v = 0; v < kVectors; ++v)
    sum.v[v] = _mm256_fmadd_ps(take(x, v), take(y, v), sum.v[v]);
}

/// NaNs are canonical in registers. Inside a chain they need not be: a NaN stays one.
[[gnu::always_inline]] inline void store_sum(float* d, const Lanes& sum) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFF'FFFF));
  for (unsigned v = 0; v < kVectors; ++v) {
    const __m256 ordered = _mm256_cmp_ps(sum.v[v], sum.v[v], _CMP_ORD_Q);
    _mm256_store_ps(d + 8 * v, _mm256_blendv_ps(nan, sum.v[v], ordered));
  }
}

void keep(float* d, const Source& source) {
  for (unsigned v = 0; v < kVectors; ++v)
    _mm256_store_ps(d + 8 * v, take(source, v));
}

/// The rows of a sequence, for an observer that takes several at once.
class Rows {
 public:
  void add(const Warp& w, const Op& op, const Source& source) {
    const auto* values = reinterpret_cast<const std::byte*>(source.values);
    rows_[count_++] = {&op,
                       static_cast<Address>(values - w.shared),
                       4,
                       AccessKind::Load,
                       ptx::Space::Shared,
                       !source.row};
    if (count_ == rows_.size()) tell(w);
  }
  void tell(const Warp& w) {
    if (count_ != 0) w.observer->on_rows(w, {rows_.data(), count_});
    count_ = 0;
  }

 private:
  std::array<RowEvent, 32> rows_;
  std::size_t count_ = 0;
};
struct NoRows {
  void add(const Warp& /*w*/, const Op& /*op*/, const Source& /*source*/) {}
  void tell(const Warp& /*w*/) {}
};

/// ld.shared.b32, ld.shared.b32, fma.rn.f32, and those that are chained to it.
template <typename Told>
[[gnu::always_inline]] inline void run_chain(Warp& w, const Op& first, Told&& rows) {
  const Op* op = &first;
  Lanes sum;
  const float* c = lanes_of(w, op[2].c);
  for (unsigned v = 0; v < kVectors; ++v)
    sum.v[v] = _mm256_load_ps(c + 8 * v);
  while (true) {
    const Source x = source_of(w, op[0]);
    const Source y = source_of(w, op[1]);
    if (x.values == nullptr || y.values == nullptr) [[unlikely]] {
      // Op by op from here on. The sum so far is what the third one reads.
      rows.tell(w);
      if (op != &first) store_sum(lanes_of(w, op[2].c), sum);
      w.ip = op + 1;
      exec_load_shared_b32(w, *op);
      return;
    }
    rows.add(w, op[0], x);
    rows.add(w, op[1], y);
    w.shared_passes += 2;
    add_products(sum, x, y);
    if ((op->list & (KeepFirst | KeepSecond)) != 0) [[unlikely]] {
      if ((op->list & KeepFirst) != 0) keep(lanes_of(w, op[0].dst), x);
      if ((op->list & KeepSecond) != 0) keep(lanes_of(w, op[1].dst), y);
    }
    if ((op->list & Chained) == 0) break;
    op += 3;
  }
  rows.tell(w);
  store_sum(lanes_of(w, op[2].dst), sum);
  w.ip = op + 3;
}

[[gnu::noinline]] void run_observed_chain(Warp& w, const Op& first) {
  run_chain(w, first, Rows());
}

void exec_load_load_fma(Warp& w, const Op& first) {
  if (w.active != kFullMask) {
    exec_load_shared_b32(w, first);
  } else if (w.observer != nullptr) {
    run_observed_chain(w, first);
  } else {
    run_chain(w, first, NoRows());
  }
}

bool is_plain(const Op& op) {
  return op.flags == 0;
}

bool is_sequence(std::span<const Op> ops, std::size_t i) {
  if (i + 2 >= ops.size()) return false;
  const Op& x = ops[i];
  const Op& y = ops[i + 1];
  const Op& z = ops[i + 2];
  if (x.run != exec_load_shared_b32 || y.run != exec_load_shared_b32 || z.run != exec_fma_f32) {
    return false;
  }
  // The first op may wait for a load: that is done before its handler runs.
  if ((x.flags & Op::Guarded) != 0 || !is_plain(y) || !is_plain(z)) return false;
  // Both loads feed the product, and neither the second address nor the addend is loaded here.
  return x.dst != y.dst && y.a != x.dst && z.c != x.dst && z.c != y.dst &&
         ((z.a == x.dst && z.b == y.dst) || (z.a == y.dst && z.b == x.dst));
}

}  // namespace

void fuse(std::span<Op> ops, const std::function<bool(std::uint32_t op, Ref ref)>& dies) {
  std::size_t previous = SIZE_MAX;
  for (std::size_t i = 0; i < ops.size();) {
    if (!is_sequence(ops, i)) {
      ++i;
      continue;
    }
    const Op& product = ops[i + 2];
    const auto reader = static_cast<std::uint32_t>(i + 2);
    ops[i].list = (dies(reader, ops[i].dst) ? 0U : KeepFirst) |
                  (dies(reader, ops[i + 1].dst) ? 0U : KeepSecond);
    if (previous != SIZE_MAX && previous + 3 == i && is_plain(ops[i]) &&
        product.c == ops[previous + 2].dst && dies(reader, product.c)) {
      ops[previous].list |= Chained;
    }
    previous = i;
    i += 3;
  }
  // Only now: recognition goes by the handlers of single ops.
  for (std::size_t i = 0; i < ops.size();) {
    const bool found = is_sequence(ops, i);
    if (found) ops[i].run = exec_load_load_fma;
    i += found ? 3 : 1;
  }
}

}  // namespace cuco::vgpu
