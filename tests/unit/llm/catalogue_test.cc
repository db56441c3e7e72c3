// SPDX-License-Identifier: Apache-2.0
#include "llm/catalogue/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::llm {
namespace {
using testing::HasSubstr;

TEST(Catalogue, ShipsTheServicesThatPeopleUse) {
  const Catalogue& shipped = Catalogue::shipped();
  for (const auto* name :
       {"openai", "openai-responses", "anthropic", "gemini", "azure", "bedrock", "deepseek",
        "openrouter", "litellm", "vllm", "sglang", "llamacpp", "ollama"}) {
    EXPECT_TRUE(shipped.service(name)) << name;
  }
  EXPECT_EQ(shipped.service("anthropic")->key_header, "x-api-key");
  EXPECT_EQ(shipped.service("anthropic")->headers.at("anthropic-version"), "2023-06-01");
  EXPECT_EQ(shipped.service("bedrock")->key, KeyScheme::SigV4);
}

TEST(Catalogue, TakesTheLongestNameThatFits) {
  const Catalogue& shipped = Catalogue::shipped();
  const auto mini = shipped.model("openai", "gpt-5-mini-2025-08-07");
  EXPECT_EQ(mini.pattern, "gpt-5-mini*");
  EXPECT_EQ(mini.token_field, "max_completion_tokens") << "kept from gpt-5*";
  EXPECT_FALSE(mini.temperature);
  ASSERT_TRUE(mini.prices);
  EXPECT_EQ(mini.dated, "2025-11");
  EXPECT_TRUE(shipped.model("openai", "unheard-of").temperature);
  EXPECT_FALSE(shipped.model("vllm", "gpt-5-mini").prices) << "another service's price";
}

TEST(Catalogue, IsOverriddenFieldByField) {
  Catalogue mine = Catalogue::shipped();
  const auto added = mine.add(
      "dated = \"2031-01\"\n"
      "[service.anthropic]\nurl = \"http://127.0.0.1:1\"\n"
      "[service.house]\nurl = \"http://house\"\nkey = \"x-house\"\nper_minute = 3\n"
      "[[model]]\nservice = \"openai\"\nname = \"gpt-5\"\nprices = { in = 9, out = 8 }\n",
      "mine.toml");
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(mine.service("anthropic")->url, "http://127.0.0.1:1");
  EXPECT_EQ(mine.service("anthropic")->key_header, "x-api-key") << "the rest stays";
  EXPECT_EQ(mine.service("house")->key_header, "x-house");
  EXPECT_EQ(mine.service("house")->per_minute, 3);
  const auto facts = mine.model("openai", "gpt-5");
  EXPECT_EQ(facts.prices, (Prices{9, 8, 9, 9}));
  EXPECT_EQ(facts.dated, "2031-01");
  EXPECT_FALSE(facts.temperature) << "what was known stays";
  EXPECT_EQ(mine.model("openai", "gpt-5-mini").prices,
            Catalogue::shipped().model("openai", "gpt-5-mini").prices);
}

TEST(Catalogue, NamesFileLineAndTheNearestWord) {
  const auto complaint = [](std::string_view text) {
    Catalogue mine = Catalogue::shipped();
    const auto added = mine.add(text, "m.toml");
    EXPECT_FALSE(added) << text;
    return added ? "" : added.error().message();
  };
  EXPECT_EQ(complaint("[service.x]\nurl = 3\n"), "m.toml:2: url must be a text");
  EXPECT_EQ(complaint("[service.x]\nurll = \"\"\n"),
            "m.toml:2: unknown field 'urll' (did you mean 'url'?)");
  EXPECT_THAT(complaint("[service.x]\nprotocol = \"fax\"\n"), HasSubstr("m.toml:2: protocol must"));
  EXPECT_THAT(complaint("[[model]]\nname = \"x\"\nprices = { in = -1 }\n"),
              HasSubstr("m.toml:3: in must be a number"));
  EXPECT_THAT(complaint("[[model]]\nservice = \"opnai\"\nname = \"x\"\n"),
              HasSubstr("did you mean 'openai'?"));
  EXPECT_THAT(complaint("[[model]]\n"), HasSubstr("a model needs a name"));
  EXPECT_THAT(complaint("model = 1\n"), HasSubstr("m.toml:1"));
  EXPECT_THAT(complaint("x = ["), HasSubstr("m.toml:1"));
}

TEST(Catalogue, KnowsServicesInNamesFromColonsInModels) {
  const Catalogue& shipped = Catalogue::shipped();
  const auto name = [&](std::string_view text) {
    const auto parsed = parse_model_name(text, shipped, "ollama");
    return parsed.service + " / " + parsed.model;
  };
  EXPECT_EQ(name("anthropic:claude-sonnet-4-5"), "anthropic / claude-sonnet-4-5");
  EXPECT_EQ(name("llama3:8b"), "ollama / llama3:8b");
  EXPECT_EQ(name("bedrock:amazon.nova-micro-v1:0"), "bedrock / amazon.nova-micro-v1:0");
  EXPECT_EQ(name("plain"), "ollama / plain");
}

TEST(Prices, CountWhatWasCachedAtItsOwnPrice) {
  const Prices prices{.in = 2, .out = 10, .cached = 0.5, .cache_written = 3};
  EXPECT_DOUBLE_EQ(dollars_of({.prompt = 1'000'000,
                               .answer = 100'000,
                               .cached = 400'000,
                               .cache_written = 100'000,
                               .reasoning = 50'000},
                              prices),
                   0.5 * 2 + 0.4 * 0.5 + 0.1 * 3 + 0.1 * 10);
}

}  // namespace
}  // namespace cuco::llm
