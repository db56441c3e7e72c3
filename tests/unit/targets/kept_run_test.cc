// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/kept_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::targets {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KeptRun ended_well(std::string out) {
  KeptRun run;
  run.ending.program.ending = system::Ending::Exited;
  run.out = std::move(out);
  return run;
}

TEST(KeptRun, MasksNumbersOfLinesThatSpeakOfTime) {
  EXPECT_EQ(without_times("took  12.5 us, 3.1e+02 GB/s"), "took # us, # GB/s");
  EXPECT_EQ(without_times("copied after -0.3 ms"), "copied after # ms");
  EXPECT_EQ(without_times("sum 12.5"), "sum 12.5");
}

TEST(KeptRun, OrderOfLinesAndTimesDoNotDiffer) {
  EXPECT_THAT(differences(ended_well("rank 0 ok\nrank 1 ok\n3 ms\n"),
                          ended_well("rank 1 ok\nrank 0 ok\n4.25 ms\n")),
              IsEmpty());
}

TEST(KeptRun, OtherOutputDiffers) {
  EXPECT_THAT(differences(ended_well("sum 3\n"), ended_well("sum 4\n")),
              ElementsAre("prints \"sum 4\" instead of \"sum 3\""));
}

TEST(KeptRun, OtherEndingDiffers) {
  KeptRun other = ended_well("");
  other.ending.program.code = 3;
  EXPECT_THAT(differences(ended_well(""), other),
              ElementsAre("exits with 3 (the plain schedule exits with 0)"));
  other.ending.server_failed = true;
  EXPECT_THAT(differences(ended_well("x"), other), ElementsAre(HasSubstr("deadlock")));
}

TEST(KeptRun, SaysWhoWaitsForWhatInADeadlock) {
  KeptRun run;
  run.ending.server_failed = true;
  run.errors =
      "the program's own words\n"
      "cuco: deadlock: nothing can go on. Who waits for what:\n"
      "  process 0 (pid 12, /tmp/x/program) thread 0: waits for the end of a thread\n"
      "  process 0 (pid 12, /tmp/x/program) thread 1: waits for device 0 (cudaDeviceSynchronize)\n"
      "  device 0: kernel f block (0,0,0) warp 0: waits for a write to 0x20\n";
  EXPECT_EQ(
      ending_of(run),
      "deadlock: process 0 thread 0: waits for the end of a thread; process 0 thread 1: waits "
      "for device 0 (cudaDeviceSynchronize)");
}

TEST(KeptRun, CopiesWithOtherContentsDifferButRepeatedOnesDoNot) {
  KeptRun plain = ended_well("");
  KeptRun other = ended_well("");
  plain.copies = {{0, 4, 1}, {0, 4, 2}};
  other.copies = plain.copies;
  EXPECT_THAT(differences(plain, other), IsEmpty());
  other.copies = {{0, 4, 1}, {0, 4, 3}};
  EXPECT_THAT(differences(plain, other), ElementsAre(HasSubstr("other contents")));
  other.copies = {{0, 4, 1}};
  EXPECT_THAT(differences(plain, other), ElementsAre(HasSubstr("missing")));
}

}  // namespace
}  // namespace cuco::targets
