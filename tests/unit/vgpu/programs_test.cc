// SPDX-License-Identifier: Apache-2.0
// nvcc's code for programs that are hard to execute right: locks, grid barriers, look-back chains,
// virtual calls, recursion, masks.
#include <numeric>

#include "fixture.h"

namespace cuco::vgpu {
namespace {

std::unique_ptr<Harness> load_programs() {
  return load(read_text("tests/unit/vgpu/data/programs.ptx"));
}

TEST(Programs, LanesOfAWarpShareALock) {
  for (const char* kernel : {"intra_warp_lock", "naive_lock"}) {
    const auto gpu = load_programs();
    const Address lock = gpu->allocate(4);
    const Address counter = gpu->allocate(4);
    run_ok(*gpu, kernel, {.grid = {3, 1, 1}, .block = {64, 1, 1}}, lock, counter);
    EXPECT_EQ(gpu->download<int>(counter, 1)[0], 192) << kernel;
  }
}

TEST(Programs, GridBarrierOfACooperativeLaunch) {
  const auto gpu = load_programs();
  constexpr int kThreads = 20 * 96;
  std::vector<int> data(kThreads);
  std::iota(data.begin(), data.end(), 0);
  const Address in = gpu->upload<int>(data);
  const Address out = gpu->allocate(kThreads * 4);
  run_ok(*gpu, "grid_sync", {.grid = {20, 1, 1}, .block = {96, 1, 1}, .cooperative = true}, in, out,
         5);
  const auto got = gpu->download<int>(out, kThreads);
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(got[static_cast<std::size_t>(i)], (i + 5) % kThreads + 5) << i;
}

TEST(Programs, SumWithShuffles) {
  const auto gpu = load_programs();
  std::vector<int> data(1000);
  std::iota(data.begin(), data.end(), -100);
  const Address in = gpu->upload<int>(data);
  const Address out = gpu->allocate(4);
  run_ok(*gpu, "block_sum", {.block = {256, 1, 1}}, in, 1000, out);
  EXPECT_EQ(gpu->download<int>(out, 1)[0], std::accumulate(data.begin(), data.end(), 0));
}

TEST(Programs, HistogramWithAtomics) {
  const auto gpu = load_programs();
  std::vector<unsigned char> data(10'000);
  std::vector<unsigned> expected(256);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<unsigned char>(i * i / 7);
    ++expected[data[i]];
  }
  const Address in = gpu->upload<unsigned char>(data);
  const Address bins = gpu->allocate(1024);
  run_ok(*gpu, "histogram", {.grid = {4, 1, 1}, .block = {128, 1, 1}}, in, 10'000, bins);
  EXPECT_EQ(gpu->download<unsigned>(bins, 256), expected);
}

TEST(Programs, ChainOfBlocksThroughFlags) {
  const auto gpu = load_programs();
  constexpr int kBlocks = 3000;  // More than fit at once: a block must not wait for a later one.
  const Address flags = gpu->allocate(kBlocks * 4);
  const Address value = gpu->allocate(4);
  run_ok(*gpu, "chain", {.grid = {kBlocks, 1, 1}, .block = {32, 1, 1}}, flags, value);
  int expected = 0;
  for (int b = 0; b < kBlocks; ++b)
    expected = expected * 3 % 1000 + b;
  EXPECT_EQ(gpu->download<int>(value, 1)[0], expected);
}

TEST(Programs, VirtualCallsDiverge) {
  const auto gpu = load_programs();
  const Address out = gpu->allocate(256);
  run_ok(*gpu, "virtual_calls", {.block = {64, 1, 1}}, out);
  const auto got = gpu->download<int>(out, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(got[static_cast<std::size_t>(i)], i % 3 == 0 ? -1 : i * i) << i;
}

TEST(Programs, Recursion) {
  const auto gpu = load_programs();
  const Address out = gpu->allocate(128);
  run_ok(*gpu, "recursion", {.block = {32, 1, 1}}, out);
  const auto got = gpu->download<int>(out, 3);
  EXPECT_THAT(got, ::testing::ElementsAre(4, 5, 9));
}

TEST(Programs, Printf) {
  const auto gpu = load_programs();
  const auto result = run_ok(*gpu, "prints", {.block = {32, 1, 1}}, 7);
  EXPECT_EQ(result.printed,
            "thread 0 of 32:  1.75 ok 1099511627776\nthread 1 of 32:  1.75 ok 1099511627776\n");
}

TEST(Programs, BallotsInDivergentBranches) {
  const auto gpu = load_programs();
  const Address out = gpu->allocate(256);
  run_ok(*gpu, "masked_ballots", {.block = {64, 1, 1}}, out);
  const auto got = gpu->download<unsigned>(out, 64);
  unsigned low = 0;
  for (unsigned lane = 0; lane < 20; ++lane) {
    const unsigned value = lane % 2 != 0 ? static_cast<unsigned>(std::popcount(lane)) : lane;
    if (value > 2) low |= 1U << lane;
  }
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], i % 32 < 20 ? low : 0xFC000000U) << i;
}

TEST(Programs, ClocksShowVirtualTime) {
  const auto gpu = load_programs();
  const Address out = gpu->allocate(16);
  run_ok(*gpu, "clocks", {.block = {32, 1, 1}}, out);
  const auto got = gpu->download<long long>(out, 2);
  EXPECT_GE(got[1], 1000);
  EXPECT_LT(got[1], 1200);
  EXPECT_NEAR(static_cast<double>(got[0]), 1980.0, 300.0);
}

}  // namespace
}  // namespace cuco::vgpu
