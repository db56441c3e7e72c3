// SPDX-License-Identifier: Apache-2.0
#include "expert/standalone/standalone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/regions.h"

namespace cuco::expert {
namespace {

using design::Backend;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr const char* kProgram = R"(#include <cuda_runtime.h>
#include <nccl.h>
#include "mine.h"
#define SUM(a, b) check(ncclAllReduce(a, b, n, ncclHalf, ncclMax, comm, stream))
// ncclAllReduce adds up.
const char* text = "ncclAllReduce";
void step() { SUM(x, y); auto again = &ncclAllReduce; }
int main() { ncclCommInitRank(&comm, 4, id, 0); step(); ncclCommDestroy(comm); }
)";

std::string reason(std::string_view program) {
  const auto result = with_own_collectives(program, {});
  return result ? "" : result.error().message();
}

TEST(Standalone, GivesEveryCallToItsOwnFunction) {
  const auto result = with_own_collectives(kProgram, {});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->replaced, ElementsAre(Pair("ncclAllReduce", 2), Pair("ncclCommDestroy", 1),
                                            Pair("ncclCommInitRank", 1)));
  EXPECT_EQ(result->program, R"(#include <cuda_runtime.h>
#include <nccl.h>
#include "cuco_collectives.cuh"
#include "mine.h"
#define SUM(a, b) check(cuco::all_reduce(a, b, n, ncclHalf, ncclMax, comm, stream))
// ncclAllReduce adds up.
const char* text = "ncclAllReduce";
void step() { SUM(x, y); auto again = &cuco::all_reduce; }
int main() { cuco::comm_init_rank(&comm, 4, id, 0); step(); cuco::comm_destroy(comm); }
)");
}

TEST(Standalone, WritesOnlyWhatTheProgramNames) {
  const auto result = with_own_collectives(kProgram, {.backend = Backend::Hybrid});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->header, HasSubstr("all_reduce_max_float16_at_once"));
  EXPECT_THAT(result->header, HasSubstr("all_reduce_max_float16_by_slices"));
  EXPECT_THAT(result->header, HasSubstr("Path::Hybrid"));
  EXPECT_THAT(result->header, Not(HasSubstr("_sum_")));
  EXPECT_THAT(result->header, Not(HasSubstr("all_gather")));
}

TEST(Standalone, IsAlsoOneFile) {
  const auto result = with_own_collectives(kProgram, {});
  ASSERT_TRUE(result);
  const std::string one = as_one_file(*result, result->program);
  EXPECT_THAT(one, Not(HasSubstr("cuco_collectives.cuh")));
  EXPECT_THAT(one, Not(HasSubstr("cuco_device.cuh")));
  EXPECT_THAT(one, Not(HasSubstr("#pragma once")));
  EXPECT_THAT(one, HasSubstr("class Communicators"));
  EXPECT_THAT(one, HasSubstr("struct Site"));
}

TEST(Standalone, MarksWhatWasGeneratedWhereNothingIsMarked) {
  const auto result = with_own_collectives(kProgram, {});
  ASSERT_TRUE(result);
  const auto regions = program::find_regions(as_one_file(*result, result->program));
  ASSERT_TRUE(regions) << regions.error().message();
  ASSERT_EQ(regions->size(), 1U);
  EXPECT_EQ(regions->front().name, "collectives");
  const std::string marked = program::as_region("mine", kProgram);
  const auto again = with_own_collectives(marked, {});
  ASSERT_TRUE(again);
  const auto kept = program::find_regions(as_one_file(*again, again->program));
  ASSERT_TRUE(kept) << kept.error().message();
  EXPECT_EQ(kept->size(), 1U);
}

TEST(Standalone, PreparesWithoutReplacingWhatCommunicates) {
  const auto result = with_own_collectives(kProgram, {});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->infrastructure, HasSubstr("check(ncclAllReduce(a, b"));
  EXPECT_THAT(result->infrastructure, HasSubstr("cuco::comm_init_rank(&comm"));
  EXPECT_THAT(result->infrastructure, HasSubstr("#include \"cuco_collectives.cuh\""));
}

TEST(Standalone, SaysWhyNot) {
  EXPECT_THAT(reason("int main() {}"), HasSubstr("no NCCL function that communicates"));
  EXPECT_THAT(reason("// ncclAllReduce\nint main() {}"), HasSubstr("no NCCL function"));
  EXPECT_THAT(reason("void f() { ncclRedOpCreatePreMulSum(&op); ncclAllReduce(a, b); }"),
              HasSubstr("ncclRedOpCreatePreMulSum"));
  EXPECT_THAT(reason("void f() { ncclDevCommCreate(c, &r, &d); ncclAllReduce(a, b); }"),
              HasSubstr("communicate themselves already"));
}

}  // namespace
}  // namespace cuco::expert
