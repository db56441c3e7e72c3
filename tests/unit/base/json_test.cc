// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace cuco {
namespace {

TEST(Json, NamesLineAndColumnOfAnError) {
  const Result<Json> parsed = parse_json("{\n  \"a\": 1,\n  oops\n}");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind(), ErrorKind::InvalidInput);
  EXPECT_NE(parsed.error().message().find("line 3"), std::string::npos) << parsed.error().message();
}

TEST(Json, MembersAreCheckedForPresenceAndType) {
  const Json object = *parse_json(R"({"s":"x","i":3,"d":2.5,"b":true})");
  EXPECT_EQ(*string_member(object, "s"), "x");
  EXPECT_EQ(*integer_member(object, "i"), 3);
  EXPECT_EQ(*number_member(object, "d"), 2.5);
  EXPECT_EQ(*number_member(object, "i"), 3.0);
  EXPECT_TRUE(*bool_member(object, "b"));
  EXPECT_EQ(string_member(object, "t").error().message(), "missing member 't'");
  EXPECT_EQ(integer_member(object, "d").error().message(),
            "member 'd' must be an integer, is number");
  EXPECT_FALSE(string_member(Json(3), "s"));
}

TEST(Json, TextOfBrokenBytesIsStillUtf8) {
  EXPECT_EQ(to_text(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Json, ANumberBeyondAnyTypeIsAnError) {
  EXPECT_FALSE(parse_json("{\"x\": 1e999999}"));
  EXPECT_FALSE(parse_json("555555e555555"));
  EXPECT_TRUE(parse_json("18446744073709551616"));  // A double.
}

TEST(ManualClock, MovesOnlyWhenSleptOn) {
  ManualClock clock(Nanoseconds{100});
  EXPECT_EQ(clock.now(), Nanoseconds{0});
  clock.sleep(Nanoseconds{5});
  EXPECT_EQ(clock.now(), Nanoseconds{5});
  EXPECT_EQ(clock.wall(), Nanoseconds{105});
}

}  // namespace
}  // namespace cuco
