// SPDX-License-Identifier: Apache-2.0
// A small runtime: ops as virtual classes in a graph, executed in order; NCCL through a table of
// std::function; pointers in structs of arrays.
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Tensor { float* data = nullptr; size_t n = 0; };
struct Runtime {
  int rank = 0, size = 1;
  ncclComm_t comm{};
  cudaStream_t stream{};
  std::map<std::string, Tensor> tensors;
  Tensor& make(const std::string& name, size_t n) {
    Tensor& t = tensors[name];
    cudaMalloc(&t.data, n * sizeof(float));
    t.n = n;
    return t;
  }
};
struct Op { virtual ~Op() = default; virtual void run(Runtime& rt) = 0; };
__global__ void k_affine(float* y, const float* x, float a, float b, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + b;
}
struct Affine : Op {
  std::string in, out; float a, b;
  Affine(std::string in, std::string out, float a, float b) : in(std::move(in)), out(std::move(out)), a(a), b(b) {}
  void run(Runtime& rt) override { k_affine<<<4, 128, 0, rt.stream>>>(rt.tensors[out].data, rt.tensors[in].data, a, b, rt.tensors[in].n); }
};
struct AllReduceOp : Op {
  std::string name; ncclRedOp_t op;
  AllReduceOp(std::string n, ncclRedOp_t o) : name(std::move(n)), op(o) {}
  void run(Runtime& rt) override { Tensor& t = rt.tensors[name]; ncclAllReduce(t.data, t.data, t.n, ncclFloat, op, rt.comm, rt.stream); }
};
struct ShiftOp : Op {
  std::string from, to;
  ShiftOp(std::string f, std::string t) : from(std::move(f)), to(std::move(t)) {}
  void run(Runtime& rt) override {
    Tensor &a = rt.tensors[from], &b = rt.tensors[to];
    const std::function<ncclResult_t()> steps[] = {
        [] { return ncclGroupStart(); },
        [&] { return ncclSend(a.data, a.n, ncclFloat, (rt.rank + 1) % rt.size, rt.comm, rt.stream); },
        [&] { return ncclRecv(b.data, b.n, ncclFloat, (rt.rank + rt.size - 1) % rt.size, rt.comm, rt.stream); },
        [] { return ncclGroupEnd(); }};
    for (const auto& step : steps) if (step() != ncclSuccess) std::abort();
  }
};
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Runtime rt;
  MPI_Comm_rank(MPI_COMM_WORLD, &rt.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rt.size);
  cudaSetDevice(rt.rank);
  ncclUniqueId id;
  if (rt.rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  ncclCommInitRankConfig(&rt.comm, rt.size, id, rt.rank, &config);
  cudaStreamCreate(&rt.stream);
  const size_t n = 3001;
  std::vector<float> h(n);
  for (size_t i = 0; i < n; ++i) h[i] = float((i * (rt.rank + 1)) % 23);
  cudaMemcpy(rt.make("x", n).data, h.data(), n * 4, cudaMemcpyHostToDevice);
  rt.make("y", n); rt.make("z", n);
  std::vector<std::unique_ptr<Op>> program;
  program.push_back(std::make_unique<Affine>("x", "y", 2.f, 1.f));
  program.push_back(std::make_unique<AllReduceOp>("y", ncclMin));
  program.push_back(std::make_unique<ShiftOp>("x", "z"));
  program.push_back(std::make_unique<Affine>("z", "x", 1.f, 0.5f));
  for (int it = 0; it < 3; ++it) for (auto& op : program) op->run(rt);
  cudaStreamSynchronize(rt.stream);
  std::vector<float> y(n), x(n);
  cudaMemcpy(y.data(), rt.tensors["y"].data, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(x.data(), rt.tensors["x"].data, n * 4, cudaMemcpyDeviceToHost);
  bool ok = true;
  for (size_t i = 0; i < n; ++i) {
    std::vector<float> v(rt.size), w(rt.size);
    for (int r = 0; r < rt.size; ++r) v[r] = float((i * (r + 1)) % 23);
    float m = 0;
    for (int it = 0; it < 3; ++it) {
      m = 1e30f;
      for (int r = 0; r < rt.size; ++r) m = fminf(m, 2 * v[r] + 1);
      for (int r = 0; r < rt.size; ++r) w[r] = v[(r + rt.size - 1) % rt.size] + 0.5f;
      v = w;
    }
    ok = ok && y[i] == m && x[i] == v[rt.rank];
  }
  for (auto& [name, t] : rt.tensors) cudaFree(t.data);
  cudaStreamDestroy(rt.stream);
  ncclCommFinalize(rt.comm);
  ncclCommDestroy(rt.comm);
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  MPI_Finalize();
  return !ok;
}
