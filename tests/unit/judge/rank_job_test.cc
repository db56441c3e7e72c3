// SPDX-License-Identifier: Apache-2.0
#include "rank/rank_job.h"

#include <gtest/gtest.h>

namespace cuco::rank {
namespace {

TEST(RankJob, SurvivesTheWireAndRefusesLess) {
  RankJob job;
  job.unique_id[5] = std::byte{9};
  job.ranks = 4;
  job.sets = 3;
  job.params = {128, -1};
  job.input_bytes = {4096};
  job.output_bytes = {1, 2, 3};
  const auto bytes = encode_rank_job(job);
  const auto copy = decode_rank_job(bytes);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->params, job.params);
  EXPECT_EQ(copy->output_bytes, job.output_bytes);
  EXPECT_EQ(copy->unique_id, job.unique_id);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto less = decode_rank_job(wire::Bytes(bytes).first(size));
    EXPECT_TRUE(!less || less->output_bytes != job.output_bytes) << size;
  }
}

}  // namespace
}  // namespace cuco::rank
