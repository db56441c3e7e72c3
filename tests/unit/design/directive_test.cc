// SPDX-License-Identifier: Apache-2.0
#include "design/directive.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "design/rules.h"
#include "design/space.h"

namespace cuco::design {
namespace {

Directive random_directive(Rng& rng) {
  Directive directive;
  directive.backend = static_cast<Backend>(rng.below(5));
  directive.placement = static_cast<Placement>(rng.below(6));
  directive.sync = static_cast<SyncScope>(rng.below(4));
  directive.issuer = {static_cast<IssuerUnit>(rng.below(3)), static_cast<int>(rng.below(3)) * 4};
  directive.chunk.kind = static_cast<ChunkKind>(rng.below(4));
  if (directive.chunk.kind == ChunkKind::Bytes) directive.chunk.bytes = 1 + rng.below(1ULL << 30U);
  return directive;
}

TEST(Directive, PrintsTheFiveDimensions) {
  const Directive directive{Backend::Lsa,
                            Placement::ProducerFused,
                            SyncScope::PerChunkFlag,
                            {IssuerUnit::Warp, 0},
                            {ChunkKind::Bytes, 65536}};
  EXPECT_EQ(to_text(directive), "LSA · producer-fused · per-chunk flag · warp · 64 KiB");
  EXPECT_EQ(short_text(directive), "producer-fused · per-chunk flag · warp · 64 KiB");
}

TEST(Directive, SurvivesPrintingAndParsing) {
  Rng rng(11);
  for (int i = 0; i < 500; ++i) {
    const auto directive = random_directive(rng);
    const auto parsed = parse_directive(to_text(directive));
    ASSERT_TRUE(parsed) << to_text(directive) << ": " << parsed.error().message();
    EXPECT_EQ(*parsed, directive) << to_text(directive);
  }
}

TEST(Directive, SaysWhatDiffersInTheKernels) {
  Directive directive;
  directive.kernel = {.vector_bytes = 16, .shuffles = true, .threads = 512};
  EXPECT_EQ(to_text(directive.kernel), "16-byte vectors · 512 threads · shuffles");
  EXPECT_EQ(*parse_directive(to_text(directive)), directive);
  directive.kernel = {
      .vector_bytes = 8, .rounds = 2, .fast_math = true, .read_only = true, .fitted = true};
  EXPECT_EQ(to_text(directive.kernel),
            "8-byte vectors · 2-round registers · fast math · read-only loads · fitted launches");
  EXPECT_EQ(*parse_directive(to_text(directive)), directive);
  EXPECT_EQ(to_text(KernelDesign{}), "");
  KernelDesign read;
  for (const char* part : {"8 byte vectors", "4 blocks a row", "16 rows a block"})
    EXPECT_TRUE(read_part(part, read)) << part;
  EXPECT_EQ(read, (KernelDesign{.vector_bytes = 8, .blocks_per_row = 4, .rows_per_block = 16}));
  for (const char* part : {"8 byte vectors", "0 threads", "threads", "5000 threads", "3 wings"})
    EXPECT_FALSE(read_part(part, read)) << part;
}

TEST(Directive, IsReadInAnyOrderCaseAndSpelling) {
  const auto parsed = parse_directive("64 KB, Producer_Fused, lsa, Warps x 8, PER CHUNK FLAG");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(to_text(*parsed), "LSA · producer-fused · per-chunk flag · warp x 8 · 64 KiB");
}

TEST(Directive, NamesWhatIsMissingOrUnknown) {
  EXPECT_NE(parse_directive("LSA · whole").error().message().find("missing placement"),
            std::string::npos);
  EXPECT_NE(parse_directive("LSA, magic").error().message().find("'magic'"), std::string::npos);
  EXPECT_NE(parse_directive("LSA, GIN").error().message().find("'GIN'"), std::string::npos);
}

class Rules : public testing::Test {
 protected:
  ProgramFacts program{
      .has_collective = true, .has_producer = true, .bytes_per_rank = 1 << 20, .element_bytes = 4};
  TopologyFacts topology{.ranks = 4, .lsa_ranks = 4, .gin = true, .multimem = false};
  Directive fused{Backend::Lsa,
                  Placement::ProducerFused,
                  SyncScope::PerChunkFlag,
                  {IssuerUnit::Block, 0},
                  {ChunkKind::Bytes, 65536}};

  std::string first_violation(const Directive& directive) {
    const auto reasons = violations(directive, program, topology, {});
    return reasons.empty() ? "" : reasons.front();
  }
};

TEST_F(Rules, AcceptAFusedLsaDesignOnOneNode) {
  EXPECT_EQ(first_violation(fused), "");
}

TEST_F(Rules, RefuseLsaAcrossNodes) {
  topology.lsa_ranks = 2;
  EXPECT_EQ(first_violation(fused), "LSA reaches 2 of 4 ranks here: the others are on other nodes");
}

TEST_F(Rules, RefuseFusionWithoutAProducer) {
  program.has_producer = false;
  EXPECT_EQ(first_violation(fused), "no kernel of this program writes the buffer that is sent");
}

TEST_F(Rules, RefuseAHostCollectiveInsideAKernel) {
  fused.backend = Backend::Host;
  EXPECT_NE(first_violation(fused).find("needs communication inside a kernel"), std::string::npos);
}

TEST_F(Rules, RefuseChunksThatDoNotFit) {
  fused.chunk.bytes = 2 << 20;
  EXPECT_NE(first_violation(fused).find("larger than"), std::string::npos);
  fused.chunk.bytes = 6;
  EXPECT_NE(first_violation(fused).find("splits an element"), std::string::npos);
}

TEST_F(Rules, RefuseMultimemWithoutASwitchAndGinInOldNccl) {
  fused.backend = Backend::Multimem;
  EXPECT_NE(first_violation(fused).find("multicast"), std::string::npos);
  fused.backend = Backend::Gin;
  const auto reasons = violations(fused, program, topology, NcclVersion{22803});
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons.front(), "NCCL 22803 has no GIN (needs 2.28.7)");
}

TEST_F(Rules, AcceptADeviceDesignForBuffersOfCudaMalloc) {
  program.symmetric_buffers = false;
  EXPECT_EQ(first_violation(fused), "");
  EXPECT_EQ(costs(fused, program, topology).front(),
            "what is communicated moves to ncclMemAlloc and becomes a window");
}

TEST_F(Rules, AcceptAHybridWhereTwoBackendsAre) {
  fused.backend = Backend::Hybrid;
  EXPECT_EQ(first_violation(fused), "");
  topology.gin = false;
  EXPECT_NE(first_violation(fused).find("a hybrid joins two"), std::string::npos);
}

TEST_F(Rules, RefuseIssuersThatHaveNothingToIssue) {
  Directive put{Backend::Gin,
                Placement::HostOrdered,
                SyncScope::PerPeerSignal,
                {IssuerUnit::Warp, 4},
                {ChunkKind::Whole, 0}};
  EXPECT_NE(first_violation(put).find("nothing to send"), std::string::npos);
  put.issuer.count = 1;
  EXPECT_EQ(first_violation(put), "");
  const Directive host{Backend::Host,
                       Placement::HostOrdered,
                       SyncScope::GlobalBarrier,
                       {IssuerUnit::Warp, 0},
                       {ChunkKind::Whole, 0}};
  EXPECT_EQ(first_violation(host), "the host issues its collectives, no warp does");
}

TEST_F(Rules, RefuseMultimemWhereNothingGoesToAll) {
  topology.multimem = true;
  fused.backend = Backend::Multimem;
  EXPECT_EQ(first_violation(fused), "");
  program.sends_to_all = false;
  EXPECT_NE(first_violation(fused).find("from one to another"), std::string::npos);
}

TEST_F(Rules, LeaveKernelsToAProgramThatDoesNotCommunicate) {
  program = {.kernels = 2};
  EXPECT_EQ(first_violation(Directive{}), "");
  EXPECT_NE(first_violation(fused), "");
  Directive vectors;
  vectors.kernel.vector_bytes = 16;
  EXPECT_EQ(first_violation(vectors), "");
  const auto space = enumerate_space(program, topology, {});
  EXPECT_EQ(space.valid, 1);
  EXPECT_EQ(space.kernel_moves.size(), 5U);
  EXPECT_NE(describe_space(program, topology, {}).find("kernel vectors"), std::string::npos);
}

TEST_F(Rules, EnumerateAllDimensionsTogether) {
  const auto space = enumerate_space(program, topology, {});
  EXPECT_EQ(space.all, 5 * 6 * 4 * 3 * 4);
  EXPECT_GT(space.valid, 50);
  int listed = 0;
  for (const auto& family : space.families) {
    EXPECT_FALSE(family.issuers.empty());
    listed += static_cast<int>(family.issuers.size() * family.chunks.size());
  }
  EXPECT_GE(listed, space.valid);
  EXPECT_TRUE(
      space.refusals.contains("multimem needs a switch with multicast; this topology has none"));
}

}  // namespace
}  // namespace cuco::design
