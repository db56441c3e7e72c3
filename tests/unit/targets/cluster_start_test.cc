// SPDX-License-Identifier: Apache-2.0
#include "targets/cluster/cluster_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::targets {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(ClusterStart, AProgramWithoutMpiStartsAsItIs) {
  const RealStart start =
      cluster_start({.ranks = 4}, {"/cuda/lib64", "/nccl/lib"}, {"/bin/prog", "x"}, {});
  EXPECT_THAT(start.argv, ElementsAre("/bin/prog", "x"));
  EXPECT_EQ(start.environment.get("LD_LIBRARY_PATH"), "/cuda/lib64:/nccl/lib");
  EXPECT_FALSE(start.environment.get("LD_PRELOAD"));
}

TEST(ClusterStart, MpirunGetsTheHostFileAndWhatOtherHostsMustSee) {
  system::Environment own;
  own.set("LD_LIBRARY_PATH", "/mine").set("NCCL_DEBUG", "INFO").set("SECRET", "1");
  const RealStart start =
      cluster_start({.ranks = 8, .uses_mpi = true, .per_node = 4, .hostfile = "/hosts"},
                    {"/cuda/lib64"}, {"/bin/prog"}, own);
  EXPECT_THAT(start.argv, Contains("/hosts"));
  EXPECT_THAT(start.argv, Contains("ppr:4:node"));
  EXPECT_THAT(start.argv, Contains("NCCL_DEBUG"));
  EXPECT_THAT(start.argv, Contains("LD_LIBRARY_PATH"));
  EXPECT_THAT(start.argv, Not(Contains("SECRET")));
  EXPECT_EQ(start.argv.front(), "mpirun");
  EXPECT_EQ(start.argv.back(), "/bin/prog");
  EXPECT_EQ(start.environment.get("LD_LIBRARY_PATH"), "/mine:/cuda/lib64");
}

}  // namespace
}  // namespace cuco::targets
