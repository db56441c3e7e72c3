// SPDX-License-Identifier: Apache-2.0
#include "vcluster/watch/block_trace.h"

#include <cstring>

#include <gtest/gtest.h>

#include "support/ptx_harness.h"
#include "vcluster/core/operation.h"

namespace cuco::vcluster {
namespace {

/// Block b, thread t: out[64 * b + t] = in[t], four bytes each; 64 threads.
constexpr const char* kCopy = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [in];
  ld.param.u64 %d2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %d3, %r1, 4;
  add.s64 %d4, %d1, %d3;
  ld.global.u32 %r3, [%d4];
  mul.wide.u32 %d5, %r2, 256;
  add.s64 %d6, %d2, %d3;
  add.s64 %d7, %d6, %d5;
  st.global.u32 [%d7], %r3;
  ret;
}
)";

class BlockTraceOfACopy : public ::testing::Test {
 protected:
  void start(std::uint32_t blocks) {
    vgpu::Environment environment;
    trace_ = std::make_unique<BlockTrace>();
    environment.observer = trace_.get();
    auto loaded = vgpu::Harness::load(
        kCopy, *hardware::load_gpu_description("h200", CUCO_SOURCE_DIR), environment);
    ASSERT_TRUE(loaded) << loaded.error().message();
    harness_ = *std::move(loaded);
    in_ = harness_->allocate(4096);
    out_ = harness_->allocate(4096);
    trace_->know(harness_->memory(),
                 [this](std::uint64_t address) -> std::optional<BlockTrace::Held> {
                   for (const auto& [number, base] : {std::pair(1U, in_), std::pair(2U, out_)}) {
                     if (address >= base && address < base + 4096)
                       return BlockTrace::Held{base, {number, 4096, 0, 0}};
                   }
                   return std::nullopt;
                 });
    grid_ = {blocks, 1, 1};
  }

  void launch(vgpu::GridId id) {
    KernelOperation kernel;
    kernel.grid = grid_;
    kernel.block = {64, 1, 1};
    Work work;
    work.order = id;
    trace_->start_grid(work, 0, id, kernel, harness_->program().kernel_info(0));
    const auto result =
        harness_->run("copy", {.grid = grid_, .block = {64, 1, 1}}, in_, out_ + 512);
    ASSERT_TRUE(result && result->ok());
  }

  std::unique_ptr<BlockTrace> trace_;
  std::unique_ptr<vgpu::Harness> harness_;
  vgpu::Address in_ = 0, out_ = 0;
  vgpu::Dim3 grid_{};
};

TEST_F(BlockTraceOfACopy, HasEachBlocksBytesAndWhen) {
  start(3);
  launch(1);
  const BlockRecord& record = trace_->record();
  ASSERT_EQ(record.steps.size(), 1U);
  const TracedStep& step = record.steps[0];
  EXPECT_EQ(step.name, "copy");
  EXPECT_GT(step.finished_ps, step.started_ps);
  ASSERT_EQ(step.touched.size(), 2U);
  const BlockMap& in = record.maps[step.touched[0].map];
  const BlockMap& out = record.maps[step.touched[1].map];
  for (std::uint64_t block = 0; block < 3; ++block) {
    EXPECT_EQ(in[block].read, (std::vector<ByteRows>{{0, 256, 1, 0}}));
    EXPECT_TRUE(in[block].written.empty());
    EXPECT_EQ(out[block].written, (std::vector<ByteRows>{{512 + 256 * block, 256, 1, 0}}));
  }
  const ChunkTimes& times = step.touched[1].times;
  EXPECT_EQ(times.bytes, 64U);
  EXPECT_EQ(times.last_write[0], kNoTime);
  EXPECT_GE(times.last_write[8], step.started_ps);
  EXPECT_LE(times.last_write[8], step.finished_ps);
  EXPECT_EQ(times.first_read[8], kNoTime);
}

TEST_F(BlockTraceOfACopy, KeepsWhatRepeatsOnce) {
  start(3);
  launch(1);
  launch(2);
  EXPECT_EQ(trace_->record().steps.size(), 2U);
  EXPECT_EQ(trace_->record().maps.size(), 2U);
  trace_->forget();
  EXPECT_TRUE(trace_->record().steps.empty());
  launch(3);
  EXPECT_EQ(trace_->record().steps.size(), 1U);
  EXPECT_EQ(trace_->record().buffers.size(), 2U);
}

}  // namespace
}  // namespace cuco::vcluster
