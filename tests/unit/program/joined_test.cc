// SPDX-License-Identifier: Apache-2.0
#include "program/joined.h"

#include <map>

#include <gtest/gtest.h>

namespace cuco::program {
namespace {

/// Headers of one folder, by name.
FindHeader among(const std::map<std::string, std::string>& headers) {
  return [headers](const std::string&, std::string_view name) -> std::optional<File> {
    const auto found = headers.find(std::string(name));
    if (found == headers.end()) return std::nullopt;
    return File{found->first, found->second};
  };
}

TEST(Joined, HeadersStandWhereTheyWereIncluded) {
  const auto text = joined({"a.cu", "#include <cstdio>\n#include \"b.h\"\nint c;\n"},
                           among({{"b.h", "int b;\n"}}));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "#include <cstdio>\nint b;\n\nint c;\n");
}

TEST(Joined, HeadersOfHeadersToo) {
  const auto text = joined({"a.cu", "  #  include \"b.h\" // why\nint c;\n"},
                           among({{"b.h", "#include \"d.h\"\nint b;"}, {"d.h", "int d;"}}));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "int d;\nint b;\nint c;\n");
}

TEST(Joined, PragmaOnceBecomesAGuard) {
  const auto text = joined({"a.cu", "#include \"b.h\"\n#include \"b.h\"\n"},
                           among({{"b.h", "#pragma once\nint b;\n"}}));
  ASSERT_TRUE(text);
  const std::string once = "#ifndef CUCO_JOINED_1\n#define CUCO_JOINED_1\n\nint b;\n#endif\n";
  EXPECT_EQ(*text, once + once);
}

TEST(Joined, CommentsAndLiteralsIncludeNothing) {
  const std::string source =
      "// #include \"b.h\"\n/*\n#include \"b.h\"\n*/\nconst char* s = R\"(\n#include "
      "\"b.h\"\n)\";\n";
  const auto text = joined({"a.cu", source}, among({{"b.h", "int b;\n"}}));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, source);
}

TEST(Joined, WhatIsNotFoundStaysAnInclude) {
  const auto text = joined({"a.cu", "#include \"far.h\"\n"}, among({}));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "#include \"far.h\"\n");
}

TEST(Joined, HeadersThatIncludeThemselvesAreRefusedUnlessTakenOnce) {
  EXPECT_FALSE(joined({"a.cu", "#include \"b.h\"\n"}, among({{"b.h", "#include \"b.h\"\n"}})));
  EXPECT_TRUE(joined({"a.cu", "#include \"b.h\"\n"},
                     among({{"b.h", "#ifndef B\n#define B\n#include \"b.h\"\n#endif\n"}})));
  EXPECT_TRUE(
      joined({"a.cu", "#include \"b.h\"\n"}, among({{"b.h", "#pragma once\n#include \"c.h\"\n"},
                                                    {"c.h", "#pragma once\n#include \"b.h\"\n"}})));
}

TEST(Joined, TooMuchIsRefused) {
  const auto text =
      joined({"a.cu", "#include \"b.h\"\n"}, among({{"b.h", std::string(100, '\n')}}), 50);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message().find("--include"), std::string::npos);
}

}  // namespace
}  // namespace cuco::program
