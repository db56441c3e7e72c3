// SPDX-License-Identifier: Apache-2.0
// A program that is written differently but does the same has the same graph, up to names.
#include <map>

#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "analysis/overlap.h"
#include "support/require.h"

namespace cuco::analysis {
namespace {

/// Kernels and headers that all versions share.
constexpr std::string_view kHead = R"(
#include <cuda_runtime.h>
#include <nccl.h>
__global__ void produce(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}
__global__ void consume(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += in[i];
}
)";

constexpr std::string_view kPlain = R"(
int main() {
  ncclComm_t comm;
  cudaStream_t stream;
  ncclUniqueId id;
  float *in, *part, *all, *out;
  const int n = 4096;
  ncclCommInitRank(&comm, 2, id, 0);
  cudaStreamCreate(&stream);
  cudaMalloc(&in, n * 4);
  cudaMalloc(&part, n * 4);
  cudaMalloc(&all, n * 8);
  cudaMalloc(&out, n * 8);
  for (int i = 0; i < 8; ++i) {
    produce<<<n / 256, 256, 0, stream>>>(part, in, n);
    ncclAllGather(part, all, n, ncclFloat, comm, stream);
    consume<<<n / 128, 256, 0, stream>>>(out, all, 2 * n);
  }
  cudaStreamSynchronize(stream);
  cudaFree(out);
  return 0;
}
)";

struct Version {
  std::string name;
  std::string text;
};

std::vector<Version> versions() {
  return {
      {"other names, other order of declarations, other layout", R"(
int main() { const int size = 4096; float *result, *mine, *x, *everything; cudaStream_t s; ncclUniqueId key; ncclComm_t world;
  ncclCommInitRank(&world, 2, key, 0); cudaStreamCreate(&s);
  cudaMalloc((void**)&x, size * 4); cudaMalloc((void**)&mine, size * 4);
  cudaMalloc((void**)&everything, size * 8); cudaMalloc((void**)&result, size * 8);
  for (int round = 0; round < 8; ++round) { produce<<<size / 256, 256, 0, s>>>(mine, x, size);
      ncclAllGather(mine, everything, size, ncclFloat, world, s); consume<<<size / 128, 256, 0, s>>>(result, everything, 2 * size); }
  cudaStreamSynchronize(s); cudaFree(result); return 0; }
)"},
      {"macros", R"(
#define NCCL(call) do { ncclResult_t result_ = (call); if (result_ != ncclSuccess) return 1; } while (0)
#define CUDA(call) if (cudaError_t error_ = (call); error_ != cudaSuccess) return 2
#define ALLOCATE(pointer, bytes) CUDA(cudaMalloc(&pointer, bytes))
#define GATHER NCCL(ncclAllGather(part, all, n, ncclFloat, comm, stream))
int main() {
  ncclComm_t comm; cudaStream_t stream; ncclUniqueId id; float *in, *part, *all, *out;
  const int n = 4096;
  NCCL(ncclCommInitRank(&comm, 2, id, 0));
  CUDA(cudaStreamCreate(&stream));
  ALLOCATE(in, n * 4); ALLOCATE(part, n * 4); ALLOCATE(all, n * 8); ALLOCATE(out, n * 8);
  for (int i = 0; i < 8; ++i) {
    produce<<<n / 256, 256, 0, stream>>>(part, in, n);
    GATHER;
    consume<<<n / 128, 256, 0, stream>>>(out, all, 2 * n);
  }
  CUDA(cudaStreamSynchronize(stream));
  cudaFree(out);
  return 0;
}
)"},
      {"functions in several depths", R"(
static float* make(size_t bytes) { float* p; cudaMalloc(&p, bytes); return p; }
static void gather(const float* from, float* to, int n, ncclComm_t c, cudaStream_t s) {
  ncclAllGather(from, to, n, ncclFloat, c, s);
}
static void step(float* in, float* part, float* all, float* out, int n, ncclComm_t c, cudaStream_t s) {
  produce<<<n / 256, 256, 0, s>>>(part, in, n);
  gather(part, all, n, c, s);
  consume<<<n / 128, 256, 0, s>>>(out, all, 2 * n);
}
static void repeat(float* in, float* part, float* all, float* out, int n, ncclComm_t c, cudaStream_t s) {
  for (int i = 0; i < 8; ++i) step(in, part, all, out, n, c, s);
}
int main() {
  ncclComm_t comm; cudaStream_t stream; ncclUniqueId id;
  ncclCommInitRank(&comm, 2, id, 0);
  cudaStreamCreate(&stream);
  const int n = 4096;
  float* in = make(n * 4);
  float* part = make(n * 4);
  float* all = make(n * 8);
  float* out = make(n * 8);
  repeat(in, part, all, out, n, comm, stream);
  cudaStreamSynchronize(stream);
  cudaFree(out);
  return 0;
}
)"},
      {"a class with members, a constructor and closures", R"(
class Layer {
 public:
  explicit Layer(int n) : n_(n) {
    ncclUniqueId id;
    ncclCommInitRank(&comm_, 2, id, 0);
    cudaStreamCreate(&stream_);
    cudaMalloc(&in_, n * 4);
    cudaMalloc(&part_, n * 4);
    cudaMalloc(&all_, n * 8);
    cudaMalloc(&out_, n * 8);
  }
  ~Layer() { cudaFree(out_); }
  void run() {
    auto launch = [this](auto* to, auto* from) { produce<<<n_ / 256, 256, 0, stream_>>>(to, from, n_); };
    (void)launch;
    const auto first = [&] { produce<<<n_ / 256, 256, 0, stream_>>>(part_, in_, n_); };
    first();
    ncclAllGather(part_, all_, n_, ncclFloat, comm_, stream_);
    consume<<<n_ / 128, 256, 0, stream_>>>(out_, all_, 2 * n_);
  }
  void finish() { cudaStreamSynchronize(stream_); }
 private:
  int n_;
  ncclComm_t comm_;
  cudaStream_t stream_;
  float *in_, *part_, *all_, *out_;
};
int main() {
  Layer layer(4096);
  for (int i = 0; i < 8; ++i) layer.run();
  layer.finish();
  return 0;
}
)"},
      {"containers, references and a template", R"(
#include <array>
#include <vector>
struct Memory { std::vector<float*> buffers; cudaStream_t stream; ncclComm_t comm; };
template <typename Kernel>
void on(cudaStream_t stream, Kernel kernel, float* to, const float* from, int n, int blocks) {
  kernel<<<blocks, 256, 0, stream>>>(to, from, n);
}
int main() {
  Memory memory;
  ncclUniqueId id;
  const int n = 4096;
  float *in, *part, *all, *out;
  ncclCommInitRank(&memory.comm, 2, id, 0);
  cudaStreamCreate(&memory.stream);
  cudaMalloc(&in, n * 4);
  cudaMalloc(&part, n * 4);
  cudaMalloc(&all, n * 8);
  cudaMalloc(&out, n * 8);
  std::array<float*, 4> table = {in, part, all, out};
  Memory& m = memory;
  for (int i = 0; i < 8; ++i) {
    on(m.stream, produce, table[1], table[0], n, n / 256);
    ncclAllGather(table[1], table[2], n, ncclFloat, m.comm, m.stream);
    on(m.stream, consume, table[3], table[2], 2 * n, n / 128);
  }
  cudaStreamSynchronize(memory.stream);
  cudaFree(table[3]);
  return 0;
}
)"},
  };
}

/// Parsing takes a second: once for all tests.
const Result<CommunicationGraph>& graph_of(const std::string& text) {
  static std::map<std::string, Result<CommunicationGraph>> graphs;
  const auto known = graphs.find(text);
  if (known != graphs.end()) return known->second;
  return graphs.emplace(text, analyse("program.cu", text, {})).first->second;
}

TEST(SameGraph, HoweverTheProgramIsWritten) {
  const auto& plain = graph_of(std::string(kHead) + std::string(kPlain));
  const bool missing = !plain && plain.error().kind() == ErrorKind::NotFound;
  CUCO_NEEDS("libclang", !missing, plain.error().message());
  ASSERT_TRUE(plain) << plain.error().message();
  ASSERT_EQ(plain->sites.size(), 1U);
  EXPECT_EQ(plain->sites[0].producers.size(), 1U);
  EXPECT_EQ(plain->sites[0].consumers.size(), 1U);
  for (const auto& version : versions()) {
    const auto& graph = graph_of(std::string(kHead) + version.text);
    ASSERT_TRUE(graph) << graph.error().message();
    EXPECT_TRUE(graph->problems.empty()) << version.name << ": " << graph->problems[0];
    EXPECT_EQ(skeleton(*graph), skeleton(*plain)) << version.name;
  }
}

TEST(Anchors, LetSetUpSeeBuffersAndTeardownSeeThemStill) {
  const auto text = std::string(kHead) + std::string(kPlain);
  const auto& graph = graph_of(text);
  CUCO_NEEDS("libclang", graph.has_value(), graph.error().message());
  ASSERT_TRUE(graph->set_up && graph->tear_down);
  EXPECT_EQ(graph->set_up->function, "main");
  EXPECT_TRUE(text.substr(graph->set_up->at).starts_with("for (int i = 0"));
  EXPECT_TRUE(text.substr(0, graph->tear_down->at).ends_with("}"));
  const auto& call = graph->collectives.at(0);
  EXPECT_TRUE(text.substr(call.span.begin).starts_with("ncclAllGather("));
}

TEST(Macros, LeaveTheirArgumentsWhereTheyStand) {
  const auto text = std::string(kHead) + versions()[1].text;
  const auto& graph = graph_of(text);
  CUCO_NEEDS("libclang", graph.has_value(), graph.error().message());
  for (const auto& operation : graph->operations) {
    if (operation.name != "cudaStreamCreate") continue;
    EXPECT_EQ(text.substr(operation.span.begin, operation.span.end - operation.span.begin),
              "cudaStreamCreate(&stream)");
    EXPECT_FALSE(operation.span.from_macro);
  }
  ASSERT_EQ(graph->collectives.size(), 1U);
  EXPECT_TRUE(graph->collectives[0].span.from_macro);
}

TEST(Overlaps, GainAtMostTheSmallerOfCommunicationAndWork) {
  const auto& graph = graph_of(std::string(kHead) + std::string(kPlain));
  CUCO_NEEDS("libclang", graph.has_value(), graph.error().message());
  const auto times = read_times(R"json({"works": [
      {"what": "kernel _Z7producePfPKfi", "started_ps": 0, "finished_ps": 3000000},
      {"what": "kernel _Z7consumePfPKfi", "started_ps": 0, "finished_ps": 1000000},
      {"what": "ncclAllGather of rank 0 on communicator 1", "started_ps": 1000000,
       "finished_ps": 7000000}]})json");
  ASSERT_TRUE(times) << times.error().message();
  const auto overlaps = find_overlaps(*graph, *times);
  ASSERT_EQ(overlaps.size(), 1U);
  EXPECT_DOUBLE_EQ(overlaps[0].communication_us, 6);
  EXPECT_DOUBLE_EQ(overlaps[0].beside_us, 4);
  EXPECT_DOUBLE_EQ(overlaps[0].gain_us, 4);
  EXPECT_FALSE(read_times("{}"));
}

}  // namespace
}  // namespace cuco::analysis
