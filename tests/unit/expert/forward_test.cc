// SPDX-License-Identifier: Apache-2.0
#include "expert/forward/forward.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "expert/forward/forward_ideas.h"
#include "program/regions.h"
#include "support/require.h"
#include "system/os/files.h"

namespace cuco::expert::forward {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const system::Path kRoot = CUCO_SOURCE_DIR;

Result<analysis::CommunicationGraph> graph_of(const std::string& text) {
  return analysis::analyse("program.cu", text, {.include_paths = {kRoot / "include"}});
}

/// A program whose parts can be others.
struct Parts {
  std::string store = "out[i] = 2 * in[i];";
  std::string device = "";  ///< Functions for the kernel.
  std::string before = "";  ///< Between the kernel and the exchange.
  std::string launch = "make<<<8, 64, 0, stream>>>(in, out, n);";
  std::string exchange =
      "ncclGroupStart();\n"
      "    ncclSend(out, count, ncclFloat, to, comm, stream);\n"
      "    ncclRecv(got, count, ncclFloat, from, comm, stream);\n"
      "    ncclGroupEnd();";
  std::string allocate = "cudaMalloc(&got, n * sizeof(float));";
  std::string early = "";  ///< Before the communicator.

  [[nodiscard]] std::string text() const {
    return "#include <nccl.h>\n" + device +
           "__global__ void make(const float* in, float* out, int n) {\n"
           "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "  if (i >= n) return;\n  " +
           store +
           "\n}\n"
           "__global__ void use(const float* got, float* sum, int n) { *sum = got[n - 1]; }\n"
           "int main(int argc, char** argv) {\n"
           "  const int rank = argc, ranks = 4, n = 512;\n"
           "  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;\n"
           "  float *in, *out, *got, *sum;\n"
           "  ncclComm_t comm;\n  cudaStream_t stream, other;\n  ncclUniqueId id{};\n  " +
           early +
           "\n  ncclCommInitRank(&comm, ranks, id, rank);\n"
           "  cudaStreamCreate(&stream);\n  cudaStreamCreate(&other);\n"
           "  cudaMalloc(&in, n * sizeof(float));\n  cudaMalloc(&out, n * sizeof(float));\n"
           "  cudaMalloc(&sum, sizeof(float));\n  " +
           allocate + "\n  for (int step = 0; step < 3; ++step) {\n    " + launch +
           "\n    const size_t count = n;\n    " + before + "\n    " + exchange +
           "\n    use<<<1, 1, 0, stream>>>(got, sum, n);\n  }\n"
           "  float host;\n"
           "  cudaMemcpy(&host, sum, sizeof(float), cudaMemcpyDeviceToHost);\n"
           "  cudaFree(got);\n  ncclCommDestroy(comm);\n}\n";
  }
};

class Forwarding : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto graph = graph_of("int main() {}");
    if (!graph && graph.error().kind() == ErrorKind::NotFound) missing_ = graph.error().message();
  }
  void SetUp() override { CUCO_NEEDS("libclang", missing_.empty(), missing_); }

  static Result<Forwarded> forwarded(const std::string& text, const ForwardDesign& design = {}) {
    const auto graph = graph_of(text);
    if (!graph) return graph.error();
    EXPECT_THAT(graph->problems, IsEmpty());
    return forward_sends(*graph, text, design);
  }
  /// What comes behind the generated header.
  static std::string program(const Parts& parts, const ForwardDesign& design = {}) {
    const auto made = forwarded(parts.text(), design);
    EXPECT_TRUE(made) << made.error().message();
    constexpr std::string_view kEnd = "// cuco: evolve end\n";
    return made ? made->program.substr(made->program.find(kEnd) + kEnd.size()) : "";
  }
  static std::string reason(const Parts& parts, const ForwardDesign& design = {}) {
    const auto made = forwarded(parts.text(), design);
    return made ? "" : made.error().message();
  }

  static inline std::string missing_;
};

TEST_F(Forwarding, PlansBeforeTheProducerWithWhatTheExchangeNeeds) {
  const auto text = program({});
  EXPECT_THAT(text, HasSubstr("    cuco::plan([&] {\n"
                              "      const size_t count = n;\n"
                              "      cuco::group_start();\n"
                              "      cuco::send(out, count, ncclFloat, to, comm, stream);\n"
                              "      cuco::recv(got, count, ncclFloat, from, comm, stream);\n"
                              "      cuco::group_end();\n"
                              "    });\n"
                              "    make<<<8, 64, 0, stream>>>(in, out, n, cuco::forward());\n"));
  EXPECT_THAT(text, HasSubstr("const __grid_constant__ cuco::Forward cuco_forward) {\n"
                              "  cuco::Forwarder cuco_forwarder(cuco_forward);\n"));
  EXPECT_THAT(text, HasSubstr("  cuco_forwarder.store(&(out[i]), 2 * in[i]);\n"));
}

TEST_F(Forwarding, MakesSymmetricWhatPeersWriteAndNothingElse) {
  const auto text = program({});
  EXPECT_THAT(text, HasSubstr("  cuco::malloc_shared(&got, n * sizeof(float));\n"));
  EXPECT_THAT(text, HasSubstr("  cudaMalloc(&out, n * sizeof(float));\n"));
  EXPECT_THAT(text, HasSubstr("  cuco::free_shared(got);\n"));
}

TEST_F(Forwarding, TakesStoresOfAnyForm) {
  EXPECT_THAT(program({.store = "float* row = out + i; *row = in[i];"}),
              HasSubstr("cuco_forwarder.store(&(*row), in[i]);"));
  EXPECT_THAT(program({.store = "*reinterpret_cast<float2*>(&out[2 * i]) = make_float2(1, i);"}),
              HasSubstr("cuco_forwarder.store(&(*reinterpret_cast<float2*>(&out[2 * i])), "
                        "make_float2(1, i));"));
  EXPECT_THAT(program({.store = "for (int k = 0; k < 2; ++k)\n    out[i + k] = in[i];"}),
              HasSubstr("    cuco_forwarder.store(&(out[i + k]), in[i]);"));
}

TEST_F(Forwarding, LeavesLaunchesWithoutSendsAlone) {
  const auto text = program({.before = "make<<<1, 64, 0, stream>>>(in, sum, 1);"});
  EXPECT_THAT(text, HasSubstr("(in, out, n, cuco::forward());"));
  EXPECT_THAT(text, HasSubstr("(in, sum, 1, cuco::Forward{});"));
}

constexpr std::string_view kMake = "make<<<8, 64, 0, stream>>>(in, out, n);";

TEST_F(Forwarding, OpensRoundsByKernelsBeforeTheProducer) {
  const auto text =
      program({.launch = "use<<<1, 1, 0, stream>>>(in, sum, n);\n    " + std::string(kMake)});
  EXPECT_THAT(text, HasSubstr("    });\n"
                              "    use<<<1, 1, 0, stream>>>(in, sum, n, cuco::opening());\n"
                              "    make<<<8, 64, 0, stream>>>(in, out, n, cuco::forward());\n"));
  EXPECT_THAT(text, HasSubstr("(got, sum, n, cuco::Forward{});"));
  EXPECT_THAT(text, HasSubstr("const __grid_constant__ cuco::Forward cuco_forward) {\n"
                              "  cuco::Opener cuco_opener(cuco_forward);"));
}

TEST_F(Forwarding, OpensNoRoundByKernelsThatMayNot) {
  const auto opens = [&](const std::string& before, const ForwardDesign& design = {}) {
    const std::string hidden =
        "__device__ float* hidden;\n"
        "__global__ void hide(float* sum) { *sum = *hidden; }\n";
    const auto text =
        program({.device = hidden, .launch = before + "\n    " + std::string(kMake)}, design);
    EXPECT_THAT(text, HasSubstr("make<<<8, 64, 0,"));
    return text.find("cuco::opening()") != std::string::npos;
  };
  const std::string kernel = "use<<<1, 1, 0, stream>>>(in, sum, n);";
  EXPECT_TRUE(opens(kernel));
  EXPECT_FALSE(opens("use<<<1, 1, 0, stream>>>(got, sum, n);"));
  EXPECT_FALSE(opens("use<<<1, 1, 0, other>>>(in, sum, n);"));
  EXPECT_FALSE(opens(kernel + " use<<<1, 1, 0, stream>>>(got, sum, n);"));
  EXPECT_FALSE(opens(kernel + " if (step > 7) return 1;"));
  EXPECT_FALSE(opens("hide<<<1, 1, 0, stream>>>(sum);"));
  EXPECT_FALSE(opens(kernel, {.straight = true, .laned = true, .blocks = 16}));
}

TEST_F(Forwarding, TakesAnExchangeInAFunctionAndReturnsOfIt) {
  const auto text = program({.device = "ncclResult_t shift(float* a, float* b, size_t n, int to, "
                                       "ncclComm_t comm, cudaStream_t stream) {\n"
                                       "  ncclGroupStart();\n"
                                       "  ncclSend(a, n, ncclFloat, to, comm, stream);\n"
                                       "  ncclRecv(b, n, ncclFloat, to, comm, stream);\n"
                                       "  return ncclGroupEnd();\n}\n",
                             .exchange = "if (shift(out, got, count, to ^ 1, comm, stream) != "
                                         "ncclSuccess) return 1;"});
  EXPECT_THAT(text, HasSubstr("      if (shift(out, got, count, to ^ 1, comm, stream) != "
                              "ncclSuccess) return;\n    });\n"));
}

TEST_F(Forwarding, SaysWhichStoreCannotBeSent) {
  EXPECT_THAT(reason({.store = "out[i] += in[i];"}),
              HasSubstr("make line 5: what is sent is updated or stored by a call, not assigned"));
  EXPECT_THAT(reason({.store = "atomicAdd(&out[i], in[i]);"}),
              HasSubstr("updated or stored by a call"));
  EXPECT_THAT(reason({.store = "put(out + i, in[i]);",
                      .device = "__device__ void put(float* at, float v) { *at = v; }\n"}),
              HasSubstr("a function that the kernel calls stores what is sent"));
  EXPECT_THAT(reason({.store = "out[i] = out[i + 1] = in[i];"}), HasSubstr("changes more"));
}

TEST_F(Forwarding, SaysWhatStandsBetweenTheKernelAndTheExchange) {
  EXPECT_THAT(reason({.before = "cudaMemsetAsync(out, 0, 4, stream);"}),
              HasSubstr("cudaMemsetAsync in line 26 writes what is sent or received"));
  EXPECT_THAT(reason({.before = "use<<<1, 1, 0, stream>>>(got, sum, n);"}),
              HasSubstr("use in line 26 reads what may be received by then"));
  EXPECT_THAT(reason({.launch = "make<<<8, 64, 0, other>>>(in, out, n);"}),
              HasSubstr("make in line 24 is on another stream than the exchange"));
}

TEST_F(Forwarding, SaysWhyAnExchangeCannotBePlanned) {
  EXPECT_THAT(reason({.before = "n2 = n2 + step;",
                      .exchange = "ncclGroupStart();\n    ncclSend(out, n2, ncclFloat, to, comm, "
                                  "stream);\n    ncclRecv(got, n2, ncclFloat, from, comm, stream);"
                                  "\n    ncclGroupEnd();",
                      .early = "int n2 = 4;"}),
              HasSubstr("'n2', which the exchange needs, changes after the data is made"));
  EXPECT_THAT(reason({.exchange = "ncclGroupStart();\n    ncclSend(out, calls++, ncclFloat, to, "
                                  "comm, stream);\n    ncclRecv(got, count, ncclFloat, from, comm, "
                                  "stream);\n    ncclGroupEnd();",
                      .early = "int calls = 0;"}),
              HasSubstr("its code changes 'calls', so it cannot run twice"));
  EXPECT_THAT(reason({.exchange = "ncclAllReduce(out, got, count, ncclFloat, ncclSum, comm, "
                                  "stream);"}),
              HasSubstr("it reduces"));
}

TEST_F(Forwarding, SaysWhichBufferPeersCannotWrite) {
  EXPECT_THAT(reason({.allocate = "if (rank == 0) cudaMalloc(&got, n * sizeof(float));"}),
              HasSubstr("got is allocated under a condition"));
  EXPECT_THAT(reason({.allocate = "", .early = "cudaMalloc(&got, n * sizeof(float));"}),
              HasSubstr("got is allocated before the communicator is made"));
  EXPECT_THAT(reason({.allocate = "cudaMallocManaged(&got, n * sizeof(float));"}),
              HasSubstr("got receives, and is no output and not made by cudaMalloc"));
}

const ForwardDesign kLaned{.straight = true, .laned = true, .blocks = 16};

TEST_F(Forwarding, GivesLanesToKernelsThatSendAndToTheirExchange) {
  const auto text = program({}, kLaned);
  EXPECT_THAT(text, HasSubstr("cuco::lane(stream, cuco::reads(in), cuco::writes(out), "
                              "cuco::sends())>>>("));
  EXPECT_THAT(text, HasSubstr("in, out, n, cuco::forward_beside());\n"));
  EXPECT_THAT(text, HasSubstr("      cuco::send(out, count, ncclFloat, to, comm, stream);\n"));
  EXPECT_THAT(text, HasSubstr("    cuco::lane_send(out, count, ncclFloat, to, comm, stream);\n"));
  EXPECT_THAT(text, HasSubstr("cuco::lane(stream, cuco::reads(got), cuco::writes(sum))>>>"));
  EXPECT_THAT(text, HasSubstr("  cuco::known_malloc(&out, n * sizeof(float));\n"));
  EXPECT_THAT(text, HasSubstr("  cuco::known_malloc_shared(&got, n * sizeof(float));\n"));
  EXPECT_THAT(text, HasSubstr("  cuco::known_free_shared(got);\n"));
  EXPECT_THAT(text, HasSubstr("  cuco::comm_destroy(comm);\n"));
}

TEST_F(Forwarding, PlansAnExchangeWithoutProducersWhereItStands) {
  const Parts parts{.store = "out[i] += in[i];"};
  const ForwardDesign straight{.by_producers = false, .straight = true};
  for (const ForwardDesign& design : {straight, kLaned}) {
    const auto text = program(parts, design);
    EXPECT_THAT(text, HasSubstr("    cuco::plan([&] {\n      cuco::group_start();\n"));
    EXPECT_THAT(text, Not(HasSubstr("cuco::forward()")));
    EXPECT_THAT(text, HasSubstr("out[i] += in[i];"));
  }
  const auto made = forwarded(parts.text(), kLaned);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->sites, 0);
  EXPECT_EQ(made->straight, 1);
  ASSERT_EQ(made->refused.size(), 1U);
  EXPECT_THAT(made->refused[0],
              HasSubstr("by its producers: make line 5: what is sent is updated"));
}

TEST_F(Forwarding, KeepsWhatSomebodyElseReadsOrMakes) {
  const auto leaving = [&](const Parts& parts) {
    const auto made = forwarded(parts.text(), {.leaves = true});
    return made ? made->leaving : -1;
  };
  const Parts usual;
  EXPECT_EQ(leaving(usual), 1);
  EXPECT_THAT(program(usual, {.leaves = true}), HasSubstr("cuco::plan_to_leave([&] {"));
  EXPECT_EQ(leaving({.allocate = usual.allocate + "cudaMemset(out, 0, n * sizeof(float));"}), 0);
  EXPECT_EQ(leaving({.exchange = usual.exchange + "cudaMemcpyAsync(sum, out, 4, "
                                                  "cudaMemcpyDeviceToDevice, stream);"}),
            0);
}

TEST_F(Forwarding, SaysWhyThereAreNoLanes) {
  EXPECT_THAT(reason({.before = "cudaGraphLaunch(nullptr, stream);"}, kLaned),
              HasSubstr("it records graphs itself"));
  EXPECT_THAT(reason({.allocate = "if (rank == 0) cudaMalloc(&got, n * sizeof(float));"}, kLaned),
              HasSubstr("got is allocated under a condition"));
}

class ForwardingWorkloads : public Forwarding, public testing::WithParamInterface<const char*> {};

TEST_P(ForwardingWorkloads, LeavesFrozenBytesAloneAloneAndInAGraph) {
  const auto seed = *system::read_file(kRoot / "workloads" / GetParam() / "program.cu");
  const auto graph = graph_of(seed);
  ASSERT_TRUE(graph) << graph.error().message();
  const auto made = make_forward_ideas(*graph, seed, {.ranks = 2, .lsa_ranks = 2}, {});
  for (const auto& discarded : made.discarded)
    ADD_FAILURE() << discarded.reason;
  // By producers alone, in a graph and on lanes; straight in a graph, and on lanes in three sizes.
  // Where only the exchange reads what is sent, in a graph and on lanes also without keeping it.
  const auto keeps_nothing = [](const Idea& idea) {
    return idea.family.find("alone") != std::string::npos;
  };
  const std::string_view workload = GetParam();
  const bool has_two = workload == "moe_dispatch_combine";
  EXPECT_EQ(std::ranges::count_if(made.ideas, keeps_nothing), has_two ? 2 : 0);
  // Of two exchanges either may be the one that producers do.
  ASSERT_EQ(std::ranges::count_if(made.ideas, std::not_fn(keeps_nothing)), has_two ? 9 : 7);
  for (const Idea& idea : made.ideas) {
    const auto edit = program::find_frozen_edit(seed, idea.source);
    ASSERT_TRUE(edit) << edit.error().message();
    EXPECT_FALSE(edit->has_value()) << (*edit)->line << ": " << (*edit)->is;
  }
  const auto anew = graph_of(made.ideas[0].source);
  ASSERT_TRUE(anew) << anew.error().message();
  EXPECT_THAT(anew->problems, IsEmpty());
  EXPECT_THAT(anew->collectives, IsEmpty());
  const auto far = make_forward_ideas(*graph, seed, {.ranks = 8, .lsa_ranks = 4}, {});
  EXPECT_THAT(far.ideas, IsEmpty());
  EXPECT_EQ(far.discarded.at(0).reason, "a store reaches only ranks of the same node");
}

INSTANTIATE_TEST_SUITE_P(All,
                         ForwardingWorkloads,
                         testing::Values("kv_transfer", "moe_dispatch_combine", "gemm_allgather"));

TEST_F(Forwarding, LetsEveryExchangeBeDoneInItsOwnWay) {
  const auto seed = *system::read_file(kRoot / "workloads/moe_dispatch_combine/program.cu");
  const auto graph = graph_of(seed);
  ASSERT_TRUE(graph) << graph.error().message();
  const ForwardDesign all{.leaves = true, .straight = true, .recorded = true};
  const auto both = forward_sends(*graph, seed, all);
  ASSERT_TRUE(both) << both.error().message();
  ASSERT_EQ(both->by_producers.size(), 2);
  for (const auto& kept : both->by_producers) {
    ForwardDesign mixed = all;
    mixed.kept_from_producers = kept;
    const auto made = forward_sends(*graph, seed, mixed);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(made->sites, 1);
    EXPECT_EQ(made->straight, 1);
    EXPECT_EQ(made->by_producers.at(0) == kept, false);
  }
}

/// What is sent there is an input first: no kernel makes it, and every exchange is straight.
TEST_F(Forwarding, SendsStraightWhereNoKernelMakesWhatIsSent) {
  const auto seed = *system::read_file(kRoot / "workloads/flash_attention_cp/program.cu");
  const auto graph = graph_of(seed);
  ASSERT_TRUE(graph) << graph.error().message();
  const auto made = make_forward_ideas(*graph, seed, {.ranks = 4, .lsa_ranks = 4}, {});
  std::set<design::Placement> placements;
  for (const Idea& idea : made.ideas)
    placements.insert(idea.directive.placement);
  EXPECT_THAT(placements,
              testing::ElementsAre(design::Placement::HostOrdered, design::Placement::StreamSplit));
}

}  // namespace
}  // namespace cuco::expert::forward
