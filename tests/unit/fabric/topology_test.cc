// SPDX-License-Identifier: Apache-2.0
#include "fabric/topology.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::fabric {
namespace {

using ::testing::HasSubstr;

std::string read(const std::string& name) {
  std::ifstream file(std::string(CUCO_SOURCE_DIR) + "/topology/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string error_of(const std::string& text) {
  const Result<Topology> parsed = parse_topology(text, "t.toml");
  return parsed ? "" : parsed.error().message();
}

constexpr const char* kMinimal =
    "name = 'x'\ngpu = 'h200'\nnodes = 1\ngpus_per_node = 2\n"
    "[load_store]\nbandwidth_gb_s = 100\nlatency_us = 1\n";

TEST(Topology, ShippedFilesParse) {
  struct Case {
    const char* file;
    int nodes, gpus;
    bool nic, multicast;
  };
  for (const Case& expected :
       {Case{"nvlink4.toml", 1, 4, true, true}, Case{"nvlink8.toml", 1, 8, true, true},
        Case{"nvlink8-nonic.toml", 1, 8, false, true}, Case{"roce2x4.toml", 2, 8, true, false},
        Case{"ib2x8.toml", 2, 16, true, true}, Case{"ib2x1.toml", 2, 2, true, false}}) {
    const Result<Topology> parsed = parse_topology(read(expected.file), expected.file);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->nodes, expected.nodes) << expected.file;
    EXPECT_EQ(parsed->gpus(), expected.gpus) << expected.file;
    EXPECT_EQ(parsed->nic.has_value(), expected.nic) << expected.file;
    EXPECT_EQ(parsed->multicast, expected.multicast) << expected.file;
  }
}

TEST(Topology, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(error_of(kMinimal), "");
  EXPECT_EQ(error_of("name = 'x'\nnodes = 1\ngpus_per_node = 2\n[load_store]\n"),
            "t.toml:1: missing key: gpu");
  EXPECT_THAT(error_of(std::string(kMinimal) + "latncy_us = 2\n"), HasSubstr("t.toml:8: unknown"));
  EXPECT_THAT(error_of(std::string(kMinimal) + "domain = 'rack'\n"),
              HasSubstr("t.toml:8: load_store.domain must be gpu, node or world: rack"));
  EXPECT_THAT(error_of(std::string(kMinimal) + "[nic]\nbandwidth_gb_s = -1\nlatency_us = 1\n"),
              HasSubstr("t.toml:9: nic.bandwidth_gb_s must be in"));
  EXPECT_THAT(error_of(std::string(kMinimal) + "efficiency = 1.1\n"),
              HasSubstr("t.toml:8: load_store.efficiency must be in"));
  EXPECT_THAT(
      error_of(std::string(kMinimal) + "[nic]\nbandwidth_gb_s = 1\nlatency_us = 1\ngin = 'host'\n"),
      HasSubstr("t.toml:11: nic.gin must be proxy or device: host"));
  EXPECT_THAT(error_of("name = \n"), HasSubstr("t.toml:1"));
}

TEST(Topology, KernelsReachTheNicByAProxyOrByThemselves) {
  const std::string nic = std::string(kMinimal) + "[nic]\nbandwidth_gb_s = 1\nlatency_us = 1\n";
  EXPECT_TRUE(parse_topology(nic, "t.toml")->gin.by_proxy);
  const Result<Topology> direct =
      parse_topology(nic + "gin = 'device'\ngin_post_us = 2\n", "t.toml");
  ASSERT_TRUE(direct);
  EXPECT_FALSE(direct->gin.by_proxy);
  EXPECT_EQ(direct->gin.post, 2'000'000);
}

TEST(Topology, DomainsAreContiguousBlocks) {
  const Result<Topology> parsed = parse_topology(read("roce2x4.toml"), "roce2x4.toml");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->same_domain(0, 3));
  EXPECT_FALSE(parsed->same_domain(3, 4));
  EXPECT_EQ(parsed->node_of(4), 1);
}

TEST(Topology, FewerRanksFillWholeNodes) {
  const Result<Topology> parsed = parse_topology(read("ib2x8.toml"), "ib2x8.toml");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(restrict_to(*parsed, 4)->nodes, 1);
  EXPECT_EQ(restrict_to(*parsed, 16)->nodes, 2);
  EXPECT_FALSE(restrict_to(*parsed, 12));
  EXPECT_FALSE(restrict_to(*parsed, 17));
  const auto spread = restrict_to(*parsed, 4, 2);
  ASSERT_TRUE(spread) << spread.error().message();
  EXPECT_EQ(spread->nodes, 2);
  EXPECT_EQ(spread->gpus_per_node, 2);
  EXPECT_FALSE(restrict_to(*parsed, 3, 2));   // one node would have one
  EXPECT_FALSE(restrict_to(*parsed, 16, 4));  // would need four nodes
  EXPECT_FALSE(restrict_to(*parsed, 9, 9));
}

}  // namespace
}  // namespace cuco::fabric
