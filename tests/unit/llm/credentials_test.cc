// SPDX-License-Identifier: Apache-2.0
#include "llm/http/credentials.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::llm {
namespace {
using testing::HasSubstr;

class Keys : public testing::Test {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_keys");
    ASSERT_TRUE(made);
    folder.emplace(*std::move(made));
  }
  system::Path file(int mode, std::string_view text = "key-in-file-1234\n") {
    const auto path = folder->path() / "key";
    EXPECT_TRUE(system::write_file(path, text, mode));
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    return path;
  }
  std::optional<system::TempFolder> folder;
  ServiceFacts service{.name = "house", .key_variable = "HOUSE_KEY"};
  ServiceFacts signing{
      .name = "aws", .key = KeyScheme::SigV4, .key_variable = "AWS_SECRET_ACCESS_KEY"};
};

system::Environment with(std::initializer_list<std::pair<const char*, const char*>> variables) {
  system::Environment made;
  for (const auto& [name, value] : variables)
    made.set(name, value);
  return made;
}

TEST_F(Keys, ComeFromTheServicesVariableOrTheOneThatIsNamed) {
  const auto environment = with({{"HOUSE_KEY", " abc \n"}, {"MINE", "def"}});
  EXPECT_EQ(find_credentials(service, {}, environment)->key, "abc");
  EXPECT_EQ(find_credentials(service, {.variable = "MINE"}, environment)->key, "def");
}

TEST_F(Keys, ComeFromAFileOfModeSixHundred) {
  EXPECT_EQ(find_credentials(service, {.file = file(0600)}, {})->key, "key-in-file-1234");
  EXPECT_EQ(find_credentials(service, {.file = file(0400)}, {})->key, "key-in-file-1234");
}

TEST_F(Keys, AreNotReadFromFilesThatOthersCanRead) {
  for (const int mode : {0644, 0640, 0604, 0660, 0602}) {
    const auto found = find_credentials(service, {.file = file(mode)}, {});
    ASSERT_FALSE(found) << mode;
    EXPECT_EQ(found.error().kind(), ErrorKind::InvalidInput);
    EXPECT_THAT(found.error().message(), HasSubstr("can be read by others"));
    EXPECT_THAT(found.error().message(), HasSubstr("chmod 600"));
    EXPECT_EQ(found.error().message().find("key-in-file"), std::string::npos);
  }
  EXPECT_FALSE(find_credentials(service, {.file = folder->path()}, {}));
  EXPECT_FALSE(find_credentials(service, {.file = folder->path() / "absent"}, {}));
}

TEST_F(Keys, ThatAreMissingSayWhatToDo) {
  const auto found = find_credentials(service, {}, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind(), ErrorKind::Unavailable);
  EXPECT_THAT(found.error().message(), HasSubstr("set HOUSE_KEY"));
  service.key_required = false;
  EXPECT_EQ(find_credentials(service, {}, {})->key, "");
}

TEST_F(Keys, WithLineBreaksNeverBecomeHeaders) {
  const auto found = find_credentials(service, {}, with({{"HOUSE_KEY", "abcdefgh\r\nX-Evil: 1"}}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message().find("abcdefgh"), std::string::npos);
}

TEST_F(Keys, OfAmazonHaveThreeParts) {
  const auto environment = with({{"AWS_ACCESS_KEY_ID", "ID"},
                                 {"AWS_SECRET_ACCESS_KEY", "SECRET"},
                                 {"AWS_SESSION_TOKEN", "TOKEN"}});
  const auto found = find_credentials(signing, {}, environment);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->access_id + found->key + found->session_token, "IDSECRETTOKEN");
  const auto filed = find_credentials(signing, {.file = file(0600, "A:B:C")}, environment);
  ASSERT_TRUE(filed);
  EXPECT_EQ(filed->access_id + filed->key + filed->session_token, "ABC");
  EXPECT_FALSE(find_credentials(signing, {.file = file(0600, "just-one")}, environment));
  EXPECT_THAT(find_credentials(signing, {}, {}).error().message(),
              HasSubstr("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
}

TEST(Scrubbing, CutsEverySecretOutAndLeavesShortWordsAlone) {
  const Scrubber scrub(std::vector<std::string>{"secret-1234", "secret-1234-longer", "abc"});
  EXPECT_EQ(scrub("a secret-1234-longer b secret-1234 c abc secret-1234"),
            "a [key] b [key] c abc [key]");
}

}  // namespace
}  // namespace cuco::llm
