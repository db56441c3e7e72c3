// SPDX-License-Identifier: Apache-2.0
#include "check/finding/finding.h"

#include <gtest/gtest.h>

namespace cuco::check {
namespace {

Finding race_at(int line, int other_line) {
  Finding finding;
  finding.kind = Kind::SharedRace;
  finding.message = "two warps touch the same word";
  finding.where = {"k.cu", line, "write of 4 bytes", "k(float*)", 1, "(0,0,0)", "(32,0,0)"};
  finding.other = Site{"k.cu", other_line, "read of 4 bytes", "k(float*)", 1, "(0,0,0)", "(0,0,0)"};
  return finding;
}

TEST(Finding, ReadsLikeACompilersMessage) {
  const std::string text = to_text(race_at(12, 9));
  EXPECT_EQ(text.substr(0, text.find('\n')), "k.cu:12: shared-race: two warps touch the same word");
  EXPECT_NE(text.find("against read of 4 bytes by rank 1 in k(float*), block (0,0,0)"),
            std::string::npos);
}

TEST(Finding, TheSamePairOfPlacesIsCountedNotRepeated) {
  FindingList list;
  list.add(race_at(12, 9));
  list.add(race_at(12, 9));
  list.add(race_at(12, 10));
  ASSERT_EQ(list.all().size(), 2U);
  EXPECT_EQ(list.all()[0].count, 2U);
}

TEST(Finding, ListIsBoundedAndSaysWhatItDropped) {
  FindingList list(3);
  for (int line = 1; line <= 10; ++line) {
    list.add(race_at(line, 1));
  }
  EXPECT_EQ(list.all().size(), 3U);
  EXPECT_EQ(list.dropped(), 7U);
}

TEST(Finding, ReadBeforeAnUnorderedWriteIsToldOnce) {
  const auto make = [](Kind kind, int line, const char* allocation) {
    Finding finding;
    finding.kind = kind;
    finding.where.file = "a.cu";
    finding.where.line = line;
    finding.allocation = allocation;
    return finding;
  };
  FindingList list;
  list.add(make(Kind::Uninitialised, 4, "8 bytes"));
  list.add(make(Kind::Uninitialised, 5, "9 bytes"));
  Finding race = make(Kind::GlobalRace, 7, "8 bytes");
  race.other = make(Kind::GlobalRace, 4, "").where;
  list.add(race);
  list.fold_unwritten();
  ASSERT_EQ(list.all().size(), 2U);
  EXPECT_EQ(list.all()[0].kind, Kind::GlobalRace);
  EXPECT_EQ(list.all()[0].notes.size(), 1U);
  EXPECT_EQ(list.all()[1].allocation, "9 bytes");
}

TEST(Suppressions, MatchKindFileAndLineOnEitherSide) {
  std::vector<std::string> errors;
  const auto rules =
      Suppressions::parse("# known\nshared-race k.cu:9\nleak *\nnonsense x.cu\n* y.cu:z\n", errors);
  EXPECT_TRUE(rules.match(race_at(12, 9)));
  EXPECT_FALSE(rules.match(race_at(12, 10)));
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0], "line 4: no such kind of finding: nonsense");
  EXPECT_EQ(errors[1], "line 5: not a line number: z");
}

TEST(Kinds, EveryNameIsFoundAgain) {
  for (int k = 0; k <= static_cast<int>(Kind::Leak); ++k) {
    const Kind kind = static_cast<Kind>(k);
    EXPECT_EQ(find_kind(name(kind)), kind);
  }
}

}  // namespace
}  // namespace cuco::check
