// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/run_trace.h"

#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cuco::targets {
namespace {

// GPU 0 puts to GPU 1 with a signal, and stores a flag there; GPU 1 waits for both.
constexpr const char* kReport = R"({
  "works": [
    {"what": "kernel _Z4sendPf", "device": 0, "stream": "stream 1", "started_ps": 1000000,
     "finished_ps": 9000000},
    {"what": "kernel _Z4sendPf", "device": 0, "stream": "stream 1", "started_ps": 2000000,
     "finished_ps": 4000000},
    {"what": "kernel _Z4recvPf", "device": 1, "stream": "the default stream",
     "started_ps": 1000000, "finished_ps": 12000000},
    {"what": "copy of 64 bytes", "device": 1, "stream": "the default stream",
     "started_ps": 12000000, "finished_ps": 14000000},
    {"what": "ncclAllReduce of rank 1 on a", "device": 1, "stream": "stream 2",
     "started_ps": 14000000, "finished_ps": 15000000},
    {"what": "host function", "device": -1, "started_ps": 14000000, "finished_ps": 15000000}],
  "deliveries": [
    {"address": 4096, "bytes": 512, "sent_ps": 3000000, "arrived_ps": 7000000, "from": 0, "to": 1},
    {"address": 8192, "bytes": 8, "sent_ps": 3000000, "arrived_ps": 7500000, "from": 0, "to": 1},
    {"address": 1024, "bytes": 4, "sent_ps": 3000000, "arrived_ps": 8000000,
     "is_completion": true, "from": 0, "to": 0},
    {"address": 4096, "bytes": 512, "sent_ps": 3200000, "arrived_ps": 7600000, "from": 0, "to": 1},
    {"address": 1024, "bytes": 4, "sent_ps": 3200000, "arrived_ps": 8100000,
     "is_completion": true, "from": 0, "to": 0}],
  "timeline": {
    "calls": [
      {"process": 0, "rank": 0, "thread": 0, "name": "launch", "wait": "", "started_ps": 0,
       "finished_ps": 1000000, "times": 1},
      {"process": 0, "rank": 0, "thread": 0, "name": "stream query", "wait": "",
       "started_ps": 1000000, "finished_ps": 9000000, "times": 20},
      {"process": 1, "rank": -1, "thread": 3, "name": "stream synchronize", "wait": "stream 2",
       "started_ps": 500000, "finished_ps": 14000000, "times": 1}],
    "places": [
      {"device": 1, "kernel": "_Z4recvPf", "file": "/src/a.cu", "line": 12},
      {"device": 0, "kernel": "_Z4sendPf", "file": "/src/a.cu", "line": 30},
      {"device": 1, "kernel": "_Z4recvPf", "file": "", "line": 0}],
    "waits": [
      {"place": 0, "from_ps": 2000000, "to_ps": 7500000, "times": 4},
      {"place": 0, "from_ps": 8000000, "to_ps": 8500000, "times": 1},
      {"place": 2, "from_ps": 2000000, "to_ps": 5000000, "times": 1}],
    "traffic": [
      {"place": 1, "peer": 1, "is_load": false, "from_ps": 4000000, "to_ps": 5000000, "bytes": 4},
      {"place": 1, "peer": 2, "is_load": false, "from_ps": 4000000, "to_ps": 5000000, "bytes": 4},
      {"place": 1, "peer": 1, "is_load": true, "from_ps": 4000000, "to_ps": 6000000,
       "bytes": 4096}],
    "arrows": [
      {"delivery": 1, "from": 0, "sent_ps": 3000000, "to": 0, "seen_ps": 7500000},
      {"delivery": -1, "from": 1, "sent_ps": 4000000, "to": 2, "seen_ps": 5000000},
      {"delivery": -1, "from": 1, "sent_ps": 9000000, "to": 2, "seen_ps": 5000000},
      {"delivery": -1, "from": 1, "sent_ps": 4000000, "to": 0, "seen_ps": 99000000}]}})";

Json trace_of_one(std::int64_t begin_ps = 0) {
  const TracedRun run{.report = kReport, .begin_ps = begin_ps};
  return *trace_of({&run, 1});
}

Json trace_of_two() {
  const TracedRun runs[] = {{"seed", kReport, 0}, {"candidate", kReport, 1000000}};
  return *trace_of(runs);
}

std::vector<Json> events(const Json& trace, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

using RowId = std::pair<int, int>;
RowId row_of(const Json& event) {
  return {event["pid"], event["tid"]};
}

std::map<RowId, std::string> row_names(const Json& trace) {
  std::map<RowId, std::string> names;
  for (const Json& event : events(trace, "M")) {
    if (event["name"] != "thread_name") continue;
    EXPECT_TRUE(names.emplace(row_of(event), event["args"]["name"]).second);
  }
  return names;
}

std::multiset<std::string> slices_in(const Json& trace, const std::string& row) {
  const auto names = row_names(trace);
  std::multiset<std::string> found;
  for (const Json& slice : events(trace, "X")) {
    if (names.at(row_of(slice)) == row) found.insert(slice["name"].get<std::string>());
  }
  return found;
}

/// What every viewer relies on.
void expect_sound(const Json& trace) {
  ASSERT_TRUE(parse_json(to_text(trace)));
  const auto names = row_names(trace);
  std::map<RowId, double> until;
  std::map<RowId, double> last;
  std::map<std::uint64_t, const Json*> flows;
  const auto slices = events(trace, "X");
  const auto is_in_a_slice = [&](const Json& end) {
    return std::ranges::any_of(slices, [&](const Json& slice) {
      const double begin = slice["ts"];
      return row_of(slice) == row_of(end) && begin <= end["ts"].get<double>() &&
             end["ts"].get<double>() < begin + slice["dur"].get<double>();
    });
  };
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") continue;
    const RowId row = row_of(event);
    EXPECT_TRUE(names.contains(row)) << event;
    EXPECT_GE(event["ts"].get<double>(), last[row]) << event;
    last[row] = event["ts"];
    if (event["ph"] == "X") {
      EXPECT_GT(event["dur"].get<double>(), 0) << event;
      EXPECT_GE(event["ts"].get<double>(), until[row] - 1e-9) << "slices overlap: " << event;
      until[row] = event["ts"].get<double>() + event["dur"].get<double>();
    } else if (event["ph"] == "s") {
      EXPECT_TRUE(is_in_a_slice(event)) << event;
      EXPECT_TRUE(flows.emplace(event["id"], &event).second) << event;
    } else if (event["ph"] == "f") {
      EXPECT_TRUE(is_in_a_slice(event)) << event;
      EXPECT_EQ(flows.erase(event["id"].get<std::uint64_t>()), 1U) << event;
    }
  }
  EXPECT_TRUE(flows.empty());
}

TEST(RunTrace, IsSound) {
  expect_sound(trace_of_one());
  expect_sound(trace_of_one(4500000));
  expect_sound(trace_of_two());
}

TEST(RunTrace, HasARowForEachThreadStreamAndLine) {
  const Json trace = trace_of_one();
  using Names = std::multiset<std::string>;
  EXPECT_EQ(slices_in(trace, "thread 0"), (Names{"launch", "stream query x 20"}));
  EXPECT_EQ(slices_in(trace, "thread 3"), (Names{"stream synchronize"}));
  EXPECT_EQ(slices_in(trace, "stream 1"), (Names{"send"}));
  EXPECT_EQ(slices_in(trace, "stream 1 (2)"), (Names{"send"}));  // they overlap
  EXPECT_EQ(slices_in(trace, "default stream"), (Names{"recv", "copy of 64 bytes"}));
  EXPECT_EQ(slices_in(trace, "stream 2"), (Names{"ncclAllReduce of rank 1 on a"}));
  EXPECT_EQ(slices_in(trace, "waits at a.cu:12"), (Names{"recv", "recv"}));
  EXPECT_EQ(slices_in(trace, "waits at an unknown line"), (Names{"recv"}));
  EXPECT_EQ(slices_in(trace, "stores to GPU 1").size(), 1U);
  EXPECT_EQ(slices_in(trace, "stores to GPU 2").size(), 1U);
  EXPECT_EQ(slices_in(trace, "loads from GPU 1").size(), 1U);
  EXPECT_EQ(slices_in(trace, "puts to GPU 1").size(), 1U);
  EXPECT_EQ(slices_in(trace, "puts to GPU 1 (2)").size(), 1U);
  EXPECT_EQ(events(trace, "i").size(), 3U);  // two payloads, one signal
  std::multiset<std::string> kinds;
  for (const Json& slice : events(trace, "X"))
    kinds.insert(slice["cat"].get<std::string>());
  EXPECT_EQ(kinds.count("kernel"), 3U);
  EXPECT_EQ(kinds.count("copy"), 1U);
  EXPECT_EQ(kinds.count("collective"), 1U);
}

TEST(RunTrace, TellsProcessesApart) {
  std::multiset<std::string> names;
  for (const Json& event : events(trace_of_two(), "M")) {
    if (event["name"] == "process_name") names.insert(event["args"]["name"].get<std::string>());
  }
  EXPECT_EQ(names, (std::multiset<std::string>{
                       "candidate: GPU 0", "candidate: GPU 1", "candidate: host of rank 0",
                       "candidate: host process 1", "seed: GPU 0", "seed: GPU 1",
                       "seed: host of rank 0", "seed: host process 1"}));
}

TEST(RunTrace, ArrowsLeadFromPutsAndStoresToTheWaitsTheyEnded) {
  const Json trace = trace_of_one();
  const auto names = row_names(trace);
  std::map<std::uint64_t, std::pair<std::string, std::string>> arrows;
  for (const Json& start : events(trace, "s"))
    arrows[start["id"]].first = names.at(row_of(start));
  for (const Json& end : events(trace, "f"))
    arrows[end["id"]].second = names.at(row_of(end));
  std::set<std::pair<std::string, std::string>> found;
  for (const auto& [id, arrow] : arrows)
    found.insert(arrow);
  // The others begin or end where nothing is.
  EXPECT_EQ(found, (std::set<std::pair<std::string, std::string>>{
                       {"puts to GPU 1", "waits at a.cu:12"},
                       {"stores to GPU 1", "waits at an unknown line"}}));
}

TEST(RunTrace, BeginsWhereItIsToldTo) {
  for (const Json& slice : events(trace_of_one(4500000), "X")) {
    EXPECT_GE(slice["ts"].get<double>(), 0) << slice;
    EXPECT_NE(slice["name"], "launch");  // it was over
  }
}

TEST(RunTrace, OfNothingIsEmpty) {
  const TracedRun run{.report = "{}"};
  EXPECT_TRUE((*trace_of({&run, 1}))["traceEvents"].empty());
  EXPECT_FALSE(trace_of(std::vector<TracedRun>{{.report = "no JSON"}}));
}

TEST(RunTrace, SaysBeforeWhetherItCanBeWritten) {
  const auto folder = system::TempFolder::create();
  ASSERT_TRUE(folder);
  const system::Path& path = folder->path();
  EXPECT_TRUE(check_trace_file(path / "trace.json"));
  EXPECT_TRUE(std::filesystem::is_empty(path));
  ASSERT_TRUE(system::write_file(path / "old.json", "old"));
  EXPECT_TRUE(check_trace_file(path / "old.json"));
  EXPECT_EQ(*system::read_file(path / "old.json"), "old");
  for (const auto& [file, why] :
       {std::pair(path, "it is a folder"), std::pair(path / "", "it is a folder"),
        std::pair(system::Path("/dev/null"), "it is not a regular file"),
        std::pair(path / "none" / "trace.json", "No such file"),
        std::pair(path / "old.json" / "trace.json", "Not a directory"),
        std::pair(system::Path("/proc/trace.json"), "/proc")}) {
    const auto result = check_trace_file(file);
    ASSERT_FALSE(result) << file;
    EXPECT_EQ(result.error().kind(), ErrorKind::InvalidInput);
    EXPECT_NE(result.error().message().find(why), std::string::npos) << result.error().message();
  }
}

}  // namespace
}  // namespace cuco::targets
