// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/run_trace.h"

#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cuco::targets {
namespace {

Json report() {
  return *parse_json(R"({
    "works": [
      {"what": "kernel _Z4sendPf", "device": 0, "started_ps": 1000000, "finished_ps": 9000000},
      {"what": "kernel _Z4sendPf", "device": 0, "started_ps": 2000000, "finished_ps": 4000000},
      {"what": "kernel _Z4recvPf", "device": 1, "started_ps": 1000000, "finished_ps": 12000000},
      {"what": "copy of 64 bytes", "device": 1, "started_ps": 12000000, "finished_ps": 14000000}],
    "phases": [
      {"kernel": "_Z4recvPf", "device": 1, "waits": [
        {"file": "/src/a.cu", "line": 12, "polls": 4, "waited_ps": 5000000, "first_ps": 2000000,
         "last_ps": 8000000, "addresses": [4096]},
        {"file": "/src/a.cu", "line": 13, "polls": 1, "waited_ps": 0, "first_ps": 2000000,
         "last_ps": 2000000, "addresses": [8192]}]}],
    "deliveries": [
      {"address": 4096, "bytes": 8, "sent_ps": 3000000, "arrived_ps": 7500000},
      {"address": 8192, "bytes": 8, "sent_ps": 3000000, "arrived_ps": 7500000}]})");
}

std::vector<Json> events(const std::string& phase) {
  std::vector<Json> found;
  const Json trace = trace_of(report());
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

TEST(RunTrace, HasWorkWaitsAndArrivals) {
  std::multiset<std::string> kinds;
  for (const Json& slice : events("X"))
    kinds.insert(slice["cat"].get<std::string>());
  EXPECT_EQ(kinds, (std::multiset<std::string>{"arrivals", "copies", "kernels", "kernels",
                                               "kernels", "waits"}));
  const Json kernel = events("X").front();
  EXPECT_EQ(kernel["name"], "send");
  EXPECT_EQ(kernel["ts"], 1.0);
  EXPECT_EQ(kernel["dur"], 8.0);
}

TEST(RunTrace, SlicesOfARowDoNotOverlapAndEveryRowHasOneName) {
  std::set<std::pair<int, int>> named;
  for (const Json& event : events("M")) {
    if (event["name"] != "thread_name") continue;
    EXPECT_TRUE(named.emplace(event["pid"], event["tid"]).second);
  }
  std::map<std::pair<int, int>, double> until;
  for (const Json& slice : events("X")) {
    const std::pair<int, int> row(slice["pid"], slice["tid"]);
    EXPECT_TRUE(named.contains(row));
    EXPECT_GE(slice["ts"].get<double>(), until[row]);
    until[row] = slice["ts"].get<double>() + slice["dur"].get<double>();
  }
}

TEST(RunTrace, AnArrowLeadsFromAnArrivalToTheWaitThatSawIt) {
  const auto starts = events("s");
  const auto ends = events("f");
  ASSERT_EQ(starts.size(), 1U);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(ends[0]["ts"], 7.5);
  for (const Json& slice : events("X")) {
    if (slice["cat"] == "waits") {
      EXPECT_EQ(slice["tid"], ends[0]["tid"]);
    }
  }
}

TEST(RunTrace, OfNothingIsEmpty) {
  EXPECT_TRUE(trace_of(Json::object())["traceEvents"].empty());
}

}  // namespace
}  // namespace cuco::targets
