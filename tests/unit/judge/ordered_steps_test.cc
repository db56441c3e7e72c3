// SPDX-License-Identifier: Apache-2.0
#include "judge/ordered_steps.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace cuco::judge {
namespace {

using namespace std::chrono_literals;
using candidate::Outcome;
using Answer = Result<std::optional<Outcome>>;

Answer go_on() {
  return std::optional<Outcome>();
}
Answer rejects(std::string why) {
  return std::optional<Outcome>(candidate::ScreenRejected{"test", std::move(why), {}});
}
std::string reason(const Answer& answer) {
  if (!answer) return "error: " + answer.error().message();
  return *answer ? candidate::summary(**answer) : "";
}

class OrderedStepsTest : public testing::TestWithParam<int> {};

TEST_P(OrderedStepsTest, AllStepsAreTakenOnceIfNoneHasAnythingToSay) {
  std::vector<std::atomic<int>> taken(50);
  OrderedSteps steps;
  for (auto& count : taken)
    steps.add([&count] {
      ++count;
      return go_on();
    });
  EXPECT_EQ(reason(steps.run(GetParam())), "");
  for (const auto& count : taken)
    EXPECT_EQ(count, 1);
}

TEST_P(OrderedStepsTest, TheFirstInOrderIsTheVerdictEvenIfALaterOneIsQuicker) {
  for (int round = 0; round < 20; ++round) {
    OrderedSteps steps;
    steps.add(go_on);
    steps.add([] {
      std::this_thread::sleep_for(2ms);
      return rejects("the slow one");
    });
    steps.add([] { return rejects("the quick one"); });
    steps.add([]() -> Answer { return Error{ErrorKind::Unavailable, "the last one"}; });
    EXPECT_NE(reason(steps.run(GetParam())).find("the slow one"), std::string::npos);
  }
}

TEST_P(OrderedStepsTest, ALaterOneThatIsStillUnderWayChangesNothing) {
  std::atomic<bool> later_has_begun = GetParam() == 1;  // with one thread it never does
  OrderedSteps steps;
  steps.add([&] {
    while (!later_has_begun)
      std::this_thread::yield();
    return rejects("the first one");
  });
  steps.add([&] {
    later_has_begun = true;
    std::this_thread::sleep_for(20ms);
    return rejects("the late one");
  });
  EXPECT_NE(reason(steps.run(GetParam())).find("the first one"), std::string::npos);
}

TEST_P(OrderedStepsTest, AnErrorEndsItLikeAVerdict) {
  std::atomic<int> later = 0;
  OrderedSteps steps;
  steps.add([]() -> Answer { return Error{ErrorKind::Unavailable, "no bench"}; });
  for (int i = 0; i < 1000; ++i)
    steps.add([&] {
      ++later;
      std::this_thread::sleep_for(100us);
      return rejects("later");
    });
  EXPECT_NE(reason(steps.run(GetParam())).find("no bench"), std::string::npos);
  EXPECT_LT(later, 2 * GetParam()) << "what comes after a verdict is not begun";
}

TEST(OrderedSteps, SeveralAreUnderWayAtOnce) {
  std::atomic<int> here = 0;
  OrderedSteps steps;
  for (int i = 0; i < 2; ++i)
    steps.add([&] {
      ++here;
      const auto limit = std::chrono::steady_clock::now() + 10s;
      while (here < 2 && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
      return here == 2 ? go_on() : rejects("alone");
    });
  EXPECT_EQ(reason(steps.run(2)), "");
}

INSTANTIATE_TEST_SUITE_P(Threads, OrderedStepsTest, testing::Values(1, 2, 5));

}  // namespace
}  // namespace cuco::judge
