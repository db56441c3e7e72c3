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
  const std::size_t end = text->find('\n');
  const std::string guard = text->substr(8, end - 8);
  const std::string once = "#ifndef " + guard + "\n#define " + guard + "\n\nint b;\n#endif\n";
  EXPECT_EQ(*text, once + once);
}

TEST(Joined, GuardsOfSeveralFilesAreThoseOfTheirHeaders) {
  const auto headers =
      among({{"b.h", "#pragma once\nint b;\n"}, {"c.h", "#pragma once\nint c;\n"}});
  const auto b = joined({"a.cu", "#include \"b.h\"\n"}, headers);
  const auto c = joined({"d.cu", "#include \"c.h\"\n"}, headers);
  const auto both = joined({"e.cu", "#include \"b.h\"\n#include \"c.h\"\n"}, headers);
  ASSERT_TRUE(b && c && both);
  EXPECT_EQ(*b + *c, *both);
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
