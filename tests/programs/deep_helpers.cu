// SPDX-License-Identifier: Apache-2.0
// The collective is four calls deep, its buffers travel as void*, and names change at every border.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <cmath>
#include <cstdio>
#include <vector>

struct Context {
  int me, everybody;
  ncclComm_t channel;
  cudaStream_t queue;
};

enum class Kind { Float, Double };

static ncclDataType_t translate(Kind kind) { return kind == Kind::Float ? ncclFloat : ncclDouble; }

static void transport(const Context* ctx, const void* src, void* dst, size_t items, Kind kind) {
  ncclAllGather(src, dst, items, translate(kind), ctx->channel, ctx->queue);
}

static void share(const Context* ctx, void* memory, size_t items, Kind kind, size_t item_size) {
  char* base = static_cast<char*>(memory);
  transport(ctx, base + ctx->me * items * item_size, base, items, kind);
}

static void publish(const Context& ctx, float* table, int entries) {
  share(&ctx, table, static_cast<size_t>(entries), Kind::Float, sizeof(float));
}

__global__ void write_entries(float* entries, int n, int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) entries[i] = sqrtf(static_cast<float>(i + seed));
}

__global__ void look_up(const float* table, const int* keys, float* found, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) found[i] = table[keys[i]];
}

static void fill_my_part(const Context& ctx, float* table, int entries, int round) {
  float* part = &table[ctx.me * entries];
  write_entries<<<(entries + 127) / 128, 128, 0, ctx.queue>>>(part, entries, round * 100 + ctx.me);
}

static void one_round(const Context& ctx, float* table, const int* keys, float* found, int entries, int round) {
  fill_my_part(ctx, table, entries, round);
  publish(ctx, table, entries);
  look_up<<<(entries + 127) / 128, 128, 0, ctx.queue>>>(table, keys, found, entries);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Context ctx{};
  MPI_Comm_rank(MPI_COMM_WORLD, &ctx.me);
  MPI_Comm_size(MPI_COMM_WORLD, &ctx.everybody);
  cudaSetDevice(ctx.me);
  ncclUniqueId id;
  if (ctx.me == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclCommInitRank(&ctx.channel, ctx.everybody, id, ctx.me);
  cudaStreamCreate(&ctx.queue);

  const int entries = 1800, rounds = 3;
  std::vector<int> keys(entries);
  for (int i = 0; i < entries; ++i) keys[i] = (i * 977 + ctx.me * 31) % (entries * ctx.everybody);
  float *table, *found;
  int* device_keys;
  cudaMalloc(&table, sizeof(float) * entries * ctx.everybody);
  cudaMalloc(&found, sizeof(float) * entries);
  cudaMalloc(&device_keys, sizeof(int) * entries);
  cudaMemcpy(device_keys, keys.data(), sizeof(int) * entries, cudaMemcpyHostToDevice);
  for (int round = 0; round < rounds; ++round) one_round(ctx, table, device_keys, found, entries, round);
  std::vector<float> host(entries);
  cudaMemcpyAsync(host.data(), found, sizeof(float) * entries, cudaMemcpyDeviceToHost, ctx.queue);
  cudaStreamSynchronize(ctx.queue);
  int wrong = 0;
  for (int i = 0; i < entries; ++i)
    wrong += std::fabs(host[i] - std::sqrt(static_cast<float>(keys[i] % entries + (rounds - 1) * 100 + keys[i] / entries))) > 1e-3f;
  std::printf("rank %d: %s\n", ctx.me, wrong ? "FAIL" : "PASS");
  cudaFree(table);
  cudaFree(found);
  cudaFree(device_keys);
  ncclCommDestroy(ctx.channel);
  MPI_Finalize();
  return wrong != 0;
}
