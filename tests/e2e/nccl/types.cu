// SPDX-License-Identifier: Apache-2.0
// Every data type with every reduction, by ncclAllReduce, ncclReduce and ncclReduceScatter. The
// values are small integers, exact in every type, so that the right answer is one number.
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"

namespace {

constexpr int kCount = 37;

/// What rank r holds at i: 1 or 2, so that products of 8 ranks stay exact in 3 bits of mantissa.
int held(int rank, int i) {
  return (rank + i) % 2 + 1;
}

int reduced(int op, int ranks, int i) {
  int value = held(0, i);
  if (op == ncclNumOps) value *= 2;
  for (int r = 1; r < ranks; ++r) {
    const int next = held(r, i);
    switch (op) {
      case ncclProd:
        value *= next;
        break;
      case ncclMax:
        value = next > value ? next : value;
        break;
      case ncclMin:
        value = next < value ? next : value;
        break;
      case ncclNumOps:
        value += 2 * next;
        break;
      default:
        value += next;
    }
  }
  return value;
}

template <typename T>
double number(T value) {
  return static_cast<double>(static_cast<float>(value));
}

template <typename T>
std::vector<T> values_of(int rank, int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i)
    values.push_back(T(float(held(rank, i))));
  return values;
}

/// Averages are the sum divided: integers round towards zero; the rest is exact for 2, 4, 8 ranks
/// wherever the type can hold it.
template <typename T>
bool is_right(T got, int op, int ranks, int i) {
  const int sum = reduced(op, ranks, i);
  if (op != ncclAvg) return number(got) == sum;
  if (number(T(0.5f)) == 0) return number(got) == sum / ranks;
  return number(got) == number(T(float(sum) / float(ranks)));
}

template <typename T>
void check_type(const std::vector<Rank>& ranks, ncclDataType_t type) {
  const int n = static_cast<int>(ranks.size());
  for (int op = 0; op <= ncclNumOps; ++op) {
    std::vector<T*> all, root, part, part_out;
    std::vector<ncclRedOp_t> ops(n, ncclRedOp_t(op));
    NCCL(ncclGroupStart());
    for (const Rank& r : ranks) {
      all.push_back(upload(r.rank, values_of<T>(r.rank, kCount)));
      root.push_back(upload(r.rank, values_of<T>(r.rank, kCount)));
      part.push_back(upload(r.rank, values_of<T>(r.rank, kCount * n)));
      part_out.push_back(upload(r.rank, std::vector<T>(kCount)));
      T two = T(2.0f);
      if (op == ncclNumOps) {
        NCCL(ncclRedOpCreatePreMulSum(&ops[r.rank], &two, type, ncclScalarHostImmediate, r.comm));
      }
      NCCL(ncclAllReduce(all[r.rank], all[r.rank], kCount, type, ops[r.rank], r.comm, r.stream));
      NCCL(ncclReduce(root[r.rank], root[r.rank], kCount, type, ops[r.rank], n - 1, r.comm,
                      r.stream));
      NCCL(ncclReduceScatter(part[r.rank], part_out[r.rank], kCount, type, ops[r.rank], r.comm,
                             r.stream));
      if (op == ncclNumOps) NCCL(ncclRedOpDestroy(ops[r.rank], r.comm));
    }
    NCCL(ncclGroupEnd());
    synchronise(ranks);
    for (const Rank& r : ranks) {
      CUDA(cudaSetDevice(r.rank));
      const auto got = download<T>(all[r.rank], kCount);
      const auto at_root = download<T>(root[r.rank], kCount);
      const auto scattered = download<T>(part_out[r.rank], kCount);
      for (int i = 0; i < kCount; ++i) {
        EXPECT(is_right(got[i], op, n, i));
        if (r.rank == n - 1) EXPECT(is_right(at_root[i], op, n, i));
        EXPECT(is_right(scattered[i], op, n, r.rank * kCount + i));
      }
    }
    free_all();
  }
}

}  // namespace

int main() {
  const std::vector<Rank> ranks = all_ranks();
  check_type<int8_t>(ranks, ncclInt8);
  check_type<uint8_t>(ranks, ncclUint8);
  check_type<int32_t>(ranks, ncclInt32);
  check_type<uint32_t>(ranks, ncclUint32);
  check_type<int64_t>(ranks, ncclInt64);
  check_type<uint64_t>(ranks, ncclUint64);
  check_type<__half>(ranks, ncclFloat16);
  check_type<float>(ranks, ncclFloat32);
  check_type<double>(ranks, ncclFloat64);
  check_type<__nv_bfloat16>(ranks, ncclBfloat16);
  check_type<__nv_fp8_e4m3>(ranks, ncclFloat8e4m3);
  check_type<__nv_fp8_e5m2>(ranks, ncclFloat8e5m2);
  free_all();
  std::printf("12 types, 6 reductions on %zu ranks: ok\n", ranks.size());
}
