// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

namespace cuco {
namespace {

TEST(Hash, MatchesThePublishedVectorsOfSha256) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, ContentIdIsAPrefix) {
  EXPECT_EQ(content_id("abc"), "ba7816bf8f01cfea");
}

}  // namespace
}  // namespace cuco
