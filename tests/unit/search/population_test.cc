// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "search/population/islands.h"

namespace cuco::search {
namespace {
using candidate::Number;
using design::Backend;

Cell cell(Backend backend, Exposed exposed = Exposed::Unknown) {
  return {{.backend = backend}, exposed};
}

std::vector<Number> numbers(const std::vector<Member>& members) {
  std::vector<Number> list;
  for (const Member& member : members)
    list.push_back(member.number);
  return list;
}

TEST(Cell, HasTheShareOfTimeThatNothingHides) {
  candidate::Scored scored;
  EXPECT_LT(exposed_share(scored), 0);
  EXPECT_EQ(cell_of({}, scored, nullptr).exposed, Exposed::Unknown);
  candidate::ShapeTime shape;
  shape.phases = {{"instructions", 8},
                  {std::string(candidate::kNotHidden), 1},
                  {std::string(candidate::kPolling), 1}};
  scored.shapes = {shape};
  EXPECT_DOUBLE_EQ(exposed_share(scored), 0.2);
  EXPECT_EQ(cell_of({}, scored, nullptr).exposed, Exposed::Some);
  design::Directive directive{.backend = Backend::Gin};
  EXPECT_EQ(cell_of(directive, scored, nullptr).region, (Region{.backend = Backend::Gin}));
}

TEST(Cell, HasWhatTheLinksCarryBesideTheSeed) {
  candidate::Scored seed;
  seed.shapes = {{.shape = "a", .wire_bytes = 100}, {.shape = "b", .wire_bytes = 300}};
  candidate::Scored other = seed;
  EXPECT_EQ(cell_of({}, other, &seed).wire, Wire::Same);
  other.shapes[1].wire_bytes = 200;
  EXPECT_DOUBLE_EQ(wire_share(other, seed), 0.75);
  EXPECT_EQ(cell_of({}, other, &seed).wire, Wire::Fewer);
  // A shape that was not profiled says nothing, nor does a seed that sends nothing.
  other.shapes[0].wire_bytes = -1;
  other.shapes[1].wire_bytes = 600;
  EXPECT_DOUBLE_EQ(wire_share(other, seed), 2);
  EXPECT_EQ(cell_of({}, other, &seed).wire, Wire::More);
  EXPECT_EQ(cell_of({}, other, nullptr).wire, Wire::Unknown);
  for (auto& shape : seed.shapes)
    shape.wire_bytes = 0;
  EXPECT_EQ(cell_of({}, other, &seed).wire, Wire::Unknown);
}

TEST(Archive, KeepsTheBestOfEveryCellHoweverFastTheOthersAre) {
  Archive archive;
  for (Number number = 1; number <= 5; ++number)
    archive.add({number, cell(Backend::Lsa), 1.0 + number});
  EXPECT_TRUE(archive.add({6, cell(Backend::Gin), 0.5}));
  EXPECT_EQ(numbers(archive.members()), (std::vector<Number>{5, 4, 3, 6}));
  EXPECT_EQ(numbers(archive.elites()), (std::vector<Number>{5, 6}));
  EXPECT_EQ(archive.best()->number, 5);
  EXPECT_FALSE(archive.add({7, cell(Backend::Lsa), 1.5}));
}

TEST(Archive, KeepsTheOlderOfEqualOnes) {
  Archive archive;
  for (Number number = 1; number <= 4; ++number)
    archive.add({number, cell(Backend::Lsa), 1.5});
  EXPECT_EQ(numbers(archive.members()), (std::vector<Number>{1, 2, 3}));
}

TEST(Archive, MovesAMemberThatIsKnownBetter) {
  Archive archive;
  archive.add({1, cell(Backend::Lsa, Exposed::Little), 1.5});
  archive.add({1, cell(Backend::Lsa, Exposed::Much), 1.2});
  ASSERT_EQ(archive.members().size(), 1U);
  EXPECT_EQ(archive.best()->cell.exposed, Exposed::Much);
  EXPECT_DOUBLE_EQ(archive.best()->fitness, 1.2);
}

TEST(Islands, StartFromRegionsSoThatTheyDiffer) {
  Islands islands({.count = 2});
  islands.start_from(
      {{1, cell(Backend::Lsa), 1.5}, {2, cell(Backend::Gin), 1.2}, {3, cell(Backend::Lsa), 1.4}});
  EXPECT_EQ(numbers(islands[0].archive.members()), (std::vector<Number>{1, 3}));
  EXPECT_EQ(numbers(islands[1].archive.members()), (std::vector<Number>{2}));
}

TEST(Islands, TakeTurns) {
  Islands islands({.count = 2});
  EXPECT_EQ(islands.choose(), 0U);
  EXPECT_EQ(islands.choose(), 1U);
  EXPECT_EQ(islands.choose(), 0U);
}

TEST(Islands, CopyTheirBestToTheirNeighbourOnSchedule) {
  Islands islands({.count = 2, .migration = 2, .stagnation = 0});
  islands.see(0, Member{1, cell(Backend::Lsa), 1.5});
  EXPECT_TRUE(islands[1].archive.empty());
  islands.see(1, Member{2, cell(Backend::Gin), 1.2});
  EXPECT_EQ(numbers(islands[1].archive.members()), (std::vector<Number>{1, 2}));
  EXPECT_EQ(numbers(islands[0].archive.members()), (std::vector<Number>{1, 2}));
}

TEST(Islands, BoundToABackendTakeNothingElse) {
  Islands islands({.count = 2, .migration = 1, .bound = {Backend::Gin}});
  EXPECT_EQ(islands[0].name, "GIN");
  islands.see(0, Member{1, cell(Backend::Lsa), 1.5});
  EXPECT_TRUE(islands[0].archive.empty());
  EXPECT_EQ(islands[1].archive.best()->number, 1);
  islands.see(1, Member{2, cell(Backend::Gin), 1.7});
  EXPECT_EQ(islands[0].archive.best()->number, 2);
}

TEST(Islands, StartAnotherFromAnotherRegionWhenNothingGains) {
  Islands islands({.count = 1, .migration = 0, .stagnation = 3});
  islands.see(0, Member{1, cell(Backend::Lsa), 1.5});
  islands.see(0, Member{2, cell(Backend::Gin), 1.2});
  islands.see(0, std::nullopt);
  EXPECT_EQ(islands.size(), 1U);
  islands.see(0, std::nullopt);
  ASSERT_EQ(islands.size(), 2U);
  EXPECT_EQ(numbers(islands[1].archive.members()), (std::vector<Number>{2}));
  EXPECT_EQ(islands.since_gain(), 3);
}

TEST(Islands, HaveAnEnd) {
  Islands islands({.count = 1, .most = 2, .stagnation = 1});
  islands.see(0, Member{1, cell(Backend::Lsa), 1.5});
  for (int i = 0; i < 20; ++i)
    islands.see(0, std::nullopt);
  EXPECT_EQ(islands.size(), 2U);
}

}  // namespace
}  // namespace cuco::search
