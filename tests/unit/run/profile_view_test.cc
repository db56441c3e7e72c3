// SPDX-License-Identifier: Apache-2.0
#include "run/profile_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/profile_gpus.h"

namespace cuco::run {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kMicrosecond = 1'000'000;

Json phase(int device, std::uint64_t microseconds, const char* kernel = "fill") {
  return {{"kernel", kernel},
          {"device", device},
          {"started_ps", 7 * kMicrosecond},
          {"finished_ps", (7 + microseconds) * kMicrosecond}};
}

Json work(int device, std::string what, std::uint64_t microseconds) {
  return {{"what", std::move(what)},
          {"device", device},
          {"started_ps", 0},
          {"finished_ps", microseconds * kMicrosecond}};
}

Json kernel(const char* name, int launches) {
  return {{"name", name},
          {"launches", launches},
          {"blocks", 8 * launches},
          {"by_class", Json::object()},
          {"lines", Json::array()}};
}

Json run_of(std::vector<Json> phases, std::vector<Json> works = {}) {
  return {{"gpu", "h200"},
          {"kernels", {kernel("fill", static_cast<int>(phases.size()))}},
          {"phases", std::move(phases)},
          {"works", std::move(works)},
          {"transfers", 0},
          {"wire_bytes", 0.0},
          {"deliveries", Json::array()}};
}

std::string text_of(const Json& report) {
  return profile_text(report, cli::Terminal(stdout, stderr, {}), 10);
}

TEST(Profile, TellsOnceWhatSeveralGpusDidAlike) {
  const std::string text =
      text_of(run_of({phase(0, 100), phase(1, 100), phase(2, 103), phase(3, 100)}));
  EXPECT_THAT(text, HasSubstr("GPUs 0-3, each of them\n  kernels  1 launch, 100 us to 103 us\n"));
  EXPECT_THAT(text, HasSubstr("fill  4 launches, 32 blocks, 100 us to 103 us predicted on each of "
                              "GPUs 0-3\n"));
}

TEST(Profile, SeparatesTheGpuThatDidOtherwise) {
  const std::string text = text_of(run_of({phase(0, 100), phase(1, 300), phase(2, 100)}));
  EXPECT_THAT(text, HasSubstr("GPUs 0, 2, each of them\n  kernels  1 launch, 100 us\n"));
  EXPECT_THAT(text, HasSubstr("GPU 1\n  kernels  1 launch, 300 us\n"));
}

TEST(Profile, AKernelOfOneGpuNamesIt) {
  Json of_two = run_of({phase(0, 100), phase(1, 20, "other")});
  of_two["kernels"].push_back(kernel("other", 1));
  EXPECT_THAT(text_of(of_two),
              HasSubstr("other  1 launch, 8 blocks, 20.0 us predicted on GPU 1\n"));
}

TEST(Profile, OneGpuNeedsNoRangeAndNoLinks) {
  const std::string text = text_of(run_of({phase(0, 100)}));
  EXPECT_THAT(text, HasSubstr("fill  1 launch, 8 blocks, 100 us predicted\n"));
  EXPECT_THAT(text, Not(HasSubstr("links")));
}

TEST(Profile, ShowsCollectivesCopiesAndWhatKernelsSent) {
  Json both = run_of({phase(0, 100), phase(1, 100)},
                     {work(0, "ncclAllReduce and 1 more of rank 0 on communicator 1", 40),
                      work(0, "ncclAllReduce and 1 more of rank 0 on communicator 1", 40),
                      work(1, "ncclAllReduce and 1 more of rank 1 on communicator 1", 30),
                      work(1, "ncclAllReduce and 1 more of rank 1 on communicator 1", 10),
                      work(0, "copy of 2048 bytes", 5), work(1, "copy of 2048 bytes", 5)});
  both["deliveries"] = {{{"from", 0}, {"to", 1}, {"bytes", 4096}, {"is_completion", false}},
                        {{"from", 1}, {"to", 0}, {"bytes", 4096}, {"is_completion", false}},
                        {{"from", 1}, {"to", 1}, {"bytes", 8}, {"is_completion", true}}};
  both["transfers"] = 4;
  both["wire_bytes"] = 8192.0;
  for (Json& one : both["phases"])
    one["poll_wait_ps"] = 3 * kMicrosecond;
  const std::string text = text_of(both);
  EXPECT_THAT(text, HasSubstr("GPUs 0-1, each of them\n"));
  EXPECT_THAT(text, HasSubstr("ncclAllReduce (grouped with 1 more): 2 times, 40.0 us to 80.0 us, "
                              "waiting for other ranks included\n"));
  EXPECT_THAT(text, HasSubstr("sent by kernels  1 delivery, 4 KiB\n"));
  EXPECT_THAT(text, HasSubstr("copies, fills    1, 2 KiB, 5.00 us\n"));
  EXPECT_THAT(text, HasSubstr("polling          3.00 us of warp-time\n"));
  EXPECT_THAT(text, HasSubstr("links  8 KiB carried between GPUs, in 4 collectives and transfers"));
}

TEST(Profile, SaysWhatIsSummedAndThatNothingWasSent) {
  const std::string text = text_of(run_of({phase(0, 100), phase(1, 100)}));
  EXPECT_THAT(text, HasSubstr("summed: counts over all launches on all GPUs"));
  EXPECT_THAT(text, HasSubstr("links  nothing was sent between GPUs\n"));
}

TEST(Profile, NamesDevicesInRanges) {
  EXPECT_EQ(name_gpus({3}), "GPU 3");
  EXPECT_EQ(name_gpus({0, 1, 2, 5, 7, 8}), "GPUs 0-2, 5, 7-8");
}

}  // namespace
}  // namespace cuco::run
