// SPDX-License-Identifier: Apache-2.0
#include "expert/lanes/lanes.h"

#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "expert/lanes/lane_ideas.h"
#include "program/regions.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::expert::lanes {
namespace {

using testing::HasSubstr;
using testing::Not;

const system::Path kRoot = CUCO_SOURCE_DIR;

Result<analysis::CommunicationGraph> graph_of(std::string_view text) {
  return analysis::analyse("program.cu", text, {.include_paths = {kRoot / "include"}});
}

class Lanes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto graph = graph_of("int main() {}");
    if (!graph && graph.error().kind() == ErrorKind::NotFound) missing_ = graph.error().message();
  }
  void SetUp() override { CUCO_NEEDS("libclang", missing_.empty(), missing_); }

  static Result<std::string> laned(std::string_view text, const Design& design = {}) {
    const auto graph = graph_of(text);
    if (!graph) return graph.error();
    EXPECT_TRUE(graph->problems.empty()) << graph->problems[0];
    return with_lanes(*graph, text, design);
  }
  static std::string reason(std::string_view text) {
    const auto made = laned(text);
    return made ? "" : made.error().message();
  }

  static inline std::string missing_;
};

/// A workload with these kernels whose run has this body. `a`, `b` and `c` are its buffers.
std::string workload(std::string_view kernels, std::string_view run) {
  return std::string(R"(#include <nccl.h>
#include "cuco/workload.h"
)") + std::string(kernels) +
         R"(
struct State { cuco_context context; float *a, *b, *c; cudaEvent_t event; };
int setup(const cuco_context& context, State** state) {
  *state = new State{context};
  cudaMalloc(&(*state)->a, 64);
  cudaMalloc(&(*state)->b, 64);
  cudaMalloc(&(*state)->c, 64);
  return 0;
}
int run(State& s, int set, cudaStream_t stream) {
)" + std::string(run) +
         R"(
  return 0;
}
void teardown(State* state) { cudaFree(state->a); delete state; }
extern "C" int cuco_setup(const cuco_context* context, void** state) {
  return setup(*context, (State**)state);
}
extern "C" int cuco_run(void* state, int set, cudaStream_t stream) {
  return run(*(State*)state, set, stream);
}
extern "C" void cuco_teardown(void* state) { teardown((State*)state); }
)";
}

constexpr const char* kCopy =
    "__global__ void copy(const float* from, float* to, int n) {\n"
    "  if (threadIdx.x < n) to[threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x];\n}\n";

TEST_F(Lanes, SayWhatEachLaunchReadsAndWrites) {
  const auto made = laned(workload(kCopy, R"(
  copy<<<1, 32, 0, stream>>>(s.a, s.b, 1);
  copy<<<dim3(1, 1), 32, 64, stream>>>(s.a, s.c, set);)"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(*made, HasSubstr("copy<<<1, 32, 0, cuco::lane(stream, cuco::reads(s.a), "
                               "cuco::writes(s.b))>>>(s.a, s.b, 1);"));
  EXPECT_THAT(*made,
              HasSubstr("64,\n      cuco::lane(stream, cuco::reads(s.a), cuco::writes(s.c))>>>("));
  EXPECT_THAT(*made, HasSubstr("State** state) {\n  cuco::lanes_open(context);"));
  EXPECT_THAT(*made, HasSubstr("cudaStream_t stream) {\n  const cuco::Joined joined(stream);"));
  EXPECT_THAT(*made, HasSubstr("void teardown(State* state) {\n  cuco::lanes_close();"));
  EXPECT_THAT(*made, HasSubstr("cuco::known_malloc(&(*state)->a, 64)"));
}

TEST_F(Lanes, FollowTemplatesMacrosAndChoicesToTheirKernels) {
  const auto made = laned(workload(R"(
struct Pair { const float* first; float* second; };
template <typename T, int kN> __global__ void scale(T* x, T by) { x[kN] *= by; }
template <typename T> __global__ void both(Pair pair, const T* __restrict__ x) { pair.second[0] = x[0]; }
#define LAUNCH(kernel, stream, ...) kernel<<<1, 32, 0, stream>>>(__VA_ARGS__)
template <typename T> void step(T* x, const Pair& pair, bool large, cudaStream_t where) {
  (large ? scale<T, 1> : scale<T, 2>)<<<1, 32, 0, where>>>(x, T(2));
  both<<<1, 32, 0, where>>>(pair, x);
}
)",
                                   R"(
  step(s.a, Pair{s.b, s.c}, set > 1, stream);
  LAUNCH((scale<float, 3>), stream, s.c, 2.0f);)"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(*made, HasSubstr("<<<1, 32, 0, cuco::lane(where, cuco::writes(x))>>>(x, T(2))"));
  EXPECT_THAT(*made, HasSubstr("cuco::lane(where, cuco::reads(x), cuco::holds(pair))"));
  EXPECT_THAT(*made, HasSubstr("LAUNCH((scale<float, 3>), cuco::lane(stream, cuco::writes(s.c)), "
                               "s.c, 2.0f);"));
}

TEST_F(Lanes, TakeWhatIsNotInTheArgumentsForEverything) {
  const auto made = laned(workload(R"(
__device__ float total;
__device__ void add(float x) { total += x; }
__global__ void sum(const float* x) { add(x[0]); }
__global__ void table(float* const* rows) { rows[0][0] = 1; }
struct Node { Node* next; float value; };
__global__ void list(const Node* head) { head->next->value = 1; }
__global__ void sly(const float* x) { *(float*)x = 1; }
)",
                                   R"(
  sum<<<1, 32, 0, stream>>>(s.a);
  table<<<1, 32, 0, stream>>>((float* const*)s.b);
  list<<<1, 32, 0, stream>>>((const Node*)s.c);
  sly<<<1, 32, 0, stream>>>(s.b);)"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(*made, HasSubstr("sum<<<1, 32, 0, cuco::lane(stream, cuco::everything())>>>"));
  EXPECT_THAT(*made, HasSubstr("table<<<1, 32, 0, cuco::lane(stream, cuco::everything())>>>"));
  EXPECT_THAT(*made, HasSubstr("list<<<1, 32, 0, cuco::lane(stream, cuco::everything())>>>"));
  // The compiler was told const, and the kernel does otherwise.
  EXPECT_THAT(*made, HasSubstr("sly<<<1, 32, 0, cuco::lane(stream, cuco::writes(s.b))>>>"));
}

TEST_F(Lanes, MakeCallsOfALibraryOperationsOfTheirOwn) {
  const auto made = laned(workload(kCopy, R"(
  cudaMemsetAsync(s.b, 0, 64, stream);
  ncclAllReduce(s.a, s.a, 16, ncclFloat, ncclSum, s.context.comm, stream);
  ncclGroupStart();
  ncclSend(s.a, 16, ncclFloat, 0, s.context.comm, stream);
  ncclGroupEnd();)"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(*made, HasSubstr("  cuco::lane_fill(s.b, 0, 64, stream);"));
  EXPECT_THAT(*made, HasSubstr("  cuco::lane_all_reduce(s.a, s.a, 16, ncclFloat, ncclSum"));
  EXPECT_THAT(*made,
              HasSubstr("  cuco::lane_send(s.a, 16, ncclFloat, 0, s.context.comm, stream);"));
  // What the program does not call is not there.
  EXPECT_THAT(*made, Not(HasSubstr("lane_recv")));
  EXPECT_THAT(*made, Not(HasSubstr("lane_copy")));
}

TEST_F(Lanes, SayWhyAProgramStaysAsItIs) {
  const auto with = [](std::string_view statement) {
    return reason(workload(
        kCopy, std::string("copy<<<1, 1, 0, stream>>>(s.a, s.b, 1);\n") + std::string(statement)));
  };
  EXPECT_EQ(with("copy<<<1, 1, 0, stream>>>(s.b, s.c, 1);"), "");
  EXPECT_EQ(with(""), "a run gives the GPU one piece of work: there is nothing beside it");
  EXPECT_THAT(with("copy<<<1, 1, 0, stream>>>(s.b, s.c, 1);\ncudaStreamSynchronize(stream);"),
              HasSubstr("a run calls cudaStreamSynchronize in line 18: it orders its work itself"));
  EXPECT_THAT(with("cudaEventRecord(s.event, stream);"), HasSubstr("cudaEventRecord"));
  EXPECT_THAT(with("copy<<<1, 1, 0, stream>>>(s.b++, s.c, 1);"),
              HasSubstr("the argument 's.b++' of the launch in line 17 has side effects"));
  EXPECT_THAT(with("ncclGroupStart();\ncopy<<<1, 1, 0, stream>>>(s.b, s.c, 1);\nncclGroupEnd();"),
              HasSubstr("inside a group"));
  EXPECT_THAT(with("copy<<<1, 1>>>(s.b, s.c, 1);"), HasSubstr("several streams"));
}

TEST_F(Lanes, AreThereForEveryDistributedWorkload) {
  for (const char* name :
       {"gemm_allgather", "moe_dispatch_combine", "flash_attention_cp", "kv_transfer"}) {
    SCOPED_TRACE(name);
    const auto seed = *system::read_file(kRoot / "workloads" / name / "program.cu");
    const auto made = laned(seed);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_FALSE(*program::find_frozen_edit(seed, *made));
    EXPECT_THAT(*made, Not(HasSubstr("lane(stream, cuco::everything()")));
    const auto graph = graph_of(*made);
    ASSERT_TRUE(graph) << graph.error().message();
    EXPECT_TRUE(graph->problems.empty()) << graph->problems[0];
    if (const char* folder = std::getenv("CUCO_KEEP_IDEAS")) {
      const auto ideas =
          make_lane_ideas(*graph_of(seed), seed, {.ranks = 4, .lsa_ranks = 4}, {}, graph_of);
      for (std::size_t i = 0; i < ideas.ideas.size(); ++i) {
        const auto file = std::string(name) + "." + std::to_string(i) + ".cu";
        ASSERT_TRUE(system::write_file(system::Path(folder) / file, ideas.ideas[i].source));
      }
    }
  }
}

/// A program with main(); `x`, `y` and `z` are its buffers.
std::string whole(std::string_view work) {
  return std::string("#include <nccl.h>\n") + kCopy + R"(
#define LAUNCH(kernel, stream, ...) kernel<<<1, 32, 0, (stream)>>>(__VA_ARGS__)
int main() {
  float *x, *y, *z;
  cudaStream_t stream, other;
  cudaEvent_t event;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&other);
  cudaEventCreate(&event);
  cudaMalloc(&x, 64);
  cudaMalloc(&y, 64);
  cudaMalloc(&z, 64);
)" + std::string(work) +
         "\n}\n";
}

TEST_F(Lanes, JoinWhereAWholeProgramLooksAtItsStreams) {
  const auto made = laned(whole(R"(
  copy<<<1, 32, 0, stream>>>(x, y, 1);
  LAUNCH(copy, stream, x, z, 1);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event, 0);
  copy<<<1, 32, 0, other>>>(y, x, 1);
  cudaStreamSynchronize(other);
  float result;
  cudaMemcpy(&result, x, 4, cudaMemcpyDeviceToHost);)"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(*made, HasSubstr("  LAUNCH(copy, cuco::lane(stream, cuco::reads(x), cuco::writes(z)),"
                               " x, z, 1);"));
  EXPECT_THAT(*made, HasSubstr("  cuco::lane_record(event, stream);\n"
                               "  cuco::lane_wait_event(other, event, 0);\n"));
  EXPECT_THAT(*made, HasSubstr("  cuco::lane_synchronize(other);\n"));
  EXPECT_THAT(*made, HasSubstr("  cuco::lane_copy_now(&result, x, 4, cudaMemcpyDeviceToHost);\n"));
  // There is no run in which alone they are used.
  EXPECT_THAT(*made, HasSubstr("bool active_ = true;"));
  EXPECT_THAT(*made, Not(HasSubstr("active_ = false")));
  EXPECT_THAT(*made, Not(HasSubstr("lanes_open")));
}

TEST_F(Lanes, SayWhyAWholeProgramStaysAsItIs) {
  const auto with = [](std::string_view statement) {
    return reason(
        whole(std::string("copy<<<1, 32, 0, stream>>>(x, y, 1);\n") + std::string(statement)));
  };
  EXPECT_THAT(with("copy<<<1, 32>>>(x, y, 1);"), HasSubstr("the default stream beside others"));
  EXPECT_THAT(with("for (int i = 0; i < 2; ++i) cudaSetDevice(i);\n"
                   "copy<<<1, 32, 0, stream>>>(x, y, 1);"),
              HasSubstr("several GPUs"));
  EXPECT_THAT(with("cudaGraphExec_t graph = nullptr; cudaGraphLaunch(graph, stream);"),
              HasSubstr("it records graphs itself: cudaGraphLaunch"));
  EXPECT_THAT(with("copy<<<1, 32, 0, stream>>>(x, y, 1);\n"
                   "cudaMemcpyToSymbolAsync(nullptr, x, 4, 0, cudaMemcpyDeviceToDevice, stream);"),
              HasSubstr("what cudaMemcpyToSymbolAsync gives to the GPU is not known"));
}

std::string ring() {
  return workload(kCopy, R"(
  for (int step = 0; step < 3; ++step) {
    copy<<<1, 32, 0, stream>>>(s.a, s.c, 1);
    ncclGroupStart();
    ncclSend(s.a, 16, ncclFloat, 1, s.context.comm, stream);
    ncclRecv(s.b, 16, ncclFloat, 1, s.context.comm, stream);
    ncclGroupEnd();
    copy<<<1, 32, 0, stream>>>(s.b, s.a, 1);
  })");
}

TEST_F(Lanes, ComeWithTheHostsCallsAndWithOwnOnesEachInAGraph) {
  const std::string text = ring();
  const auto graph = graph_of(text);
  ASSERT_TRUE(graph) << graph.error().message();
  const auto made = make_lane_ideas(*graph, text, {.ranks = 4, .lsa_ranks = 4}, {}, graph_of);
  for (const auto& discarded : made.discarded)
    ADD_FAILURE() << discarded.design << ": " << discarded.reason;
  std::vector<std::string> directives;
  std::set<std::string> codes;
  for (const Idea& idea : made.ideas) {
    directives.push_back(design::to_text(idea.directive));
    codes.insert(code_hash(idea));
    EXPECT_THAT(idea.source, HasSubstr("const cuco::Joined joined(stream);"));
    const bool host = idea.directive.backend == design::Backend::Host;
    EXPECT_EQ(idea.source.find("cuco::comm_open(context.comm)") == std::string::npos, host);
  }
  EXPECT_EQ(codes.size(), made.ideas.size());
  ASSERT_EQ(made.ideas.size(), 10U);
  EXPECT_THAT(directives[0], HasSubstr("host · stream-split"));
  EXPECT_THAT(made.ideas[0].source, HasSubstr("make_replays"));
  EXPECT_THAT(directives[1], HasSubstr("LSA · stream-split · per-peer signal · block x 16"));
  EXPECT_THAT(made.ideas[1].source, HasSubstr("cudaGraphLaunch"));
  EXPECT_THAT(made.ideas[2].source, Not(HasSubstr("make_replays")));
  EXPECT_THAT(directives[4], HasSubstr("LSA · put/wait split"));
}

TEST_F(Lanes, AreNoIdeaWhereNothingIsCommunicated) {
  const std::string text = workload(kCopy, R"(
  copy<<<1, 32, 0, stream>>>(s.a, s.b, 1);
  copy<<<1, 32, 0, stream>>>(s.a, s.c, 1);)");
  const auto made =
      make_lane_ideas(*graph_of(text), text, {.ranks = 1, .lsa_ranks = 1}, {}, graph_of);
  EXPECT_TRUE(made.ideas.empty());
  ASSERT_EQ(made.discarded.size(), 1U);
  EXPECT_EQ(made.discarded[0].reason, "the program does not communicate");
}

}  // namespace
}  // namespace cuco::expert::lanes
