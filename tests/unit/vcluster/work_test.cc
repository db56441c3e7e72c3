// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/work.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuco::vcluster {
namespace {

struct Fixture : testing::Test {
  Timeline timeline;
  WorkGraph works{timeline};
  std::vector<std::string> log;

  WorkPtr lasting(const std::string& name, VTime duration) {
    return WorkGraph::make(name, [this, name, duration](const WorkPtr& work) {
      log.push_back("start " + name);
      works.finish(work, timeline.now() + duration);
    });
  }
  void run() {
    while (timeline.next_time())
      timeline.run_next();
  }
};

using Work_ = Fixture;

TEST_F(Work_, StartsWhenTheLastDependencyIsDone) {
  const WorkPtr a = lasting("a", 10);
  const WorkPtr b = lasting("b", 30);
  const WorkPtr c = lasting("c", 5);
  works.submit(a, {});
  works.submit(b, {});
  const WorkPtr after[] = {a, b};
  works.submit(c, after);
  run();
  EXPECT_EQ(a->done_at, 10);
  EXPECT_EQ(b->done_at, 30);
  EXPECT_EQ(c->done_at, 35);
}

TEST_F(Work_, MarkerIsDoneWhenReached) {
  const WorkPtr a = lasting("a", 10);
  const WorkPtr marker = WorkGraph::make("marker", nullptr);
  works.submit(a, {});
  works.submit(marker, {&a, 1});
  EXPECT_FALSE(marker->done());
  run();
  EXPECT_EQ(marker->done_at, 10);
}

TEST_F(Work_, LongChainsDoNotRecurse) {
  WorkPtr last = lasting("first", 1);
  works.submit(last, {});
  for (int i = 0; i < 300'000; ++i) {
    WorkPtr next = WorkGraph::make("marker", nullptr);
    works.submit(next, {&last, 1});
    last = next;
  }
  run();
  EXPECT_TRUE(last->done());
}

TEST_F(Work_, CallsBackAtOnceWhenNothingIsPending) {
  bool called = false;
  works.when_done({}, [&] { called = true; });
  EXPECT_TRUE(called);
}

TEST(Timeline, RunsEqualTimesInTheOrderAskedFor) {
  Timeline timeline;
  std::string order;
  timeline.at(5, [&] { order += 'b'; });
  timeline.at(3, [&] { order += 'a'; });
  timeline.at(5, [&] { order += 'c'; });
  while (timeline.next_time())
    timeline.run_next();
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(timeline.now(), 5);
}

}  // namespace
}  // namespace cuco::vcluster
