// SPDX-License-Identifier: Apache-2.0
#include "ptx/toolkit_source.h"

#include <gtest/gtest.h>

namespace cuco::ptx {
namespace {

TEST(ToolkitSource, KnowsTheToolkitInFoldersOfAnyName) {
  EXPECT_TRUE(is_of_toolkit("/usr/local/cuda/bin/../targets/x86_64-linux/include/mma.h"));
  EXPECT_TRUE(is_of_toolkit(
      "/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/cuda_pipeline_helpers.h"));
  EXPECT_TRUE(is_of_toolkit("/opt/nvidia/include/cooperative_groups/details/sync.h"));
  EXPECT_TRUE(is_of_toolkit("/usr/include/nccl_device/impl/gin__funcs.h"));
  EXPECT_TRUE(is_of_toolkit("/home/me/nccl/build/include/nccl_device/core.h"));
}

TEST(ToolkitSource, LeavesAProgramItsOwnFiles) {
  EXPECT_FALSE(is_of_toolkit(""));
  EXPECT_FALSE(is_of_toolkit("/home/me/cuda/gemm.cu"));
  EXPECT_FALSE(is_of_toolkit("/home/me/cuda/include/gemm.h"));
  EXPECT_FALSE(is_of_toolkit("/home/me/targets/gemm.cu"));
  EXPECT_FALSE(is_of_toolkit("include/cuda_gemm.h"));
}

}  // namespace
}  // namespace cuco::ptx
