// SPDX-License-Identifier: Apache-2.0
// Each protocol: what is sent, and what is made of the events that services send.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/rng.h"
#include "llm/protocol/model_protocol.h"

namespace cuco::llm {
namespace {

constexpr Protocol kAll[] = {Protocol::Chat, Protocol::Responses, Protocol::Messages,
                             Protocol::Gemini, Protocol::Converse};

struct Event {
  const char* name;
  const char* data;
};

std::unique_ptr<Answer> gathered(Protocol protocol, std::initializer_list<Event> events) {
  auto answer = make_answer(protocol);
  for (const auto& [name, data] : events) {
    const auto added = answer->add_event(name, data);
    EXPECT_TRUE(added) << data << ": " << (added ? "" : added.error().message());
  }
  return answer;
}

Json body(Protocol protocol, const Request& request, const ModelFacts& facts = {}) {
  const auto parsed = parse_json(request_body(protocol, request, facts, "m"));
  EXPECT_TRUE(parsed);
  return *parsed;
}

TEST(Protocols, HaveNamesThatCanBeRead) {
  for (const auto protocol : kAll)
    EXPECT_EQ(parse_protocol(name_of(protocol)), protocol);
  EXPECT_FALSE(parse_protocol("telepathy"));
}

TEST(Chat, GathersDeltasAndToleratesWhatServersDo) {
  const auto answer = gathered(
      Protocol::Chat,
      {{"", R"({"model":"m-2","choices":[{"delta":{"role":"assistant","content":null}}]})"},
       {"", R"({"choices":[]})"},
       {"", R"({"choices":[{"delta":{"content":"Hel","reasoning_content":"hm"}}]})"},
       {"", R"({"choices":[{"delta":{"content":"lo"}}]})"},
       {"", R"({"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null})"},
       {"",
        R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,
            "prompt_tokens_details":{"cached_tokens":3},
            "completion_tokens_details":{"reasoning_tokens":2}}})"},
       {"", "[DONE]"}});
  EXPECT_TRUE(answer->complete());
  EXPECT_FALSE(answer->cut_off());
  EXPECT_EQ(answer->text(), "Hello");
  EXPECT_EQ(answer->model(), "m-2");
  EXPECT_EQ(answer->usage(), (Usage{.prompt = 7, .answer = 5, .cached = 3, .reasoning = 2}));
}

TEST(Chat, KnowsThatAStreamBrokeOffAndThatAnAnswerWasTooLong) {
  EXPECT_FALSE(gathered(Protocol::Chat, {{"", R"({"choices":[{"delta":{"content":"half"}}]})"}})
                   ->complete());
  EXPECT_TRUE(
      gathered(Protocol::Chat, {{"", R"({"choices":[{"finish_reason":"length"}]})"}})->cut_off());
}

TEST(Responses, GatherDeltasAndTheLastEventsUsage) {
  const auto answer =
      gathered(Protocol::Responses,
               {{"response.created", R"({"type":"response.created","response":{"model":"m-2"}})"},
                {"", R"({"type":"response.reasoning_summary_text.delta","delta":"hidden"})"},
                {"", R"({"type":"response.output_text.delta","delta":"Hel"})"},
                {"", R"({"type":"response.output_text.delta","delta":"lo"})"},
                {"",
                 R"({"type":"response.completed","response":{"status":"completed","usage":{
            "input_tokens":7,"input_tokens_details":{"cached_tokens":3},"output_tokens":5,
            "output_tokens_details":{"reasoning_tokens":2}}}})"}});
  EXPECT_TRUE(answer->complete());
  EXPECT_EQ(answer->text(), "Hello");
  EXPECT_EQ(answer->usage(), (Usage{.prompt = 7, .answer = 5, .cached = 3, .reasoning = 2}));
}

TEST(Responses, SayWhyTheyFailedAndWhenTheyWereCutOff) {
  auto answer = make_answer(Protocol::Responses);
  const auto failed = answer->add_event(
      "",
      R"({"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}})");
  EXPECT_EQ(failed.error().kind(), ErrorKind::Unavailable);
  EXPECT_TRUE(gathered(Protocol::Responses, {{"",
                                              R"({"type":"response.incomplete","response":{
                             "incomplete_details":{"reason":"max_output_tokens"}}})"}})
                  ->cut_off());
}

TEST(Messages, CountCachedTokensInAndLeaveThinkingOut) {
  const auto answer = gathered(
      Protocol::Messages,
      {{"message_start",
        R"({"type":"message_start","message":{"model":"m-2","usage":{"input_tokens":4,
            "cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":1}}})"},
       {"ping", R"({"type":"ping"})"},
       {"", R"({"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}})"},
       {"", R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}})"},
       {"", R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"lo"}})"},
       {"",
        R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}})"},
       {"", R"({"type":"message_stop"})"}});
  EXPECT_TRUE(answer->complete());
  EXPECT_EQ(answer->text(), "Hello");
  EXPECT_EQ(answer->usage(),
            (Usage{.prompt = 9, .answer = 9, .cached = 3, .cache_written = 2, .reasoning = 0}));
}

TEST(Messages, AreWorthARetryWhenOverloadedInMidStream) {
  auto answer = make_answer(Protocol::Messages);
  const auto added = answer->add_event(
      "error", R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})");
  EXPECT_EQ(added.error().kind(), ErrorKind::Unavailable);
  EXPECT_EQ(added.error().message(), "the service says: Overloaded");
}

TEST(Messages, MarkWhatCanBeCachedAndNeverCutACharacter) {
  Request request{.system = "rules", .prompt = "sh\u00e4red rest", .shared_prefix = 3};
  const Json sent = body(Protocol::Messages, request);
  EXPECT_EQ(sent["system"][0]["cache_control"]["type"], "ephemeral");
  const Json& content = sent["messages"][0]["content"];
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(content[0]["text"], "sh");
  EXPECT_TRUE(content[0].contains("cache_control"));
  EXPECT_EQ(content[1]["text"], "\u00e4red rest");
  EXPECT_FALSE(content[1].contains("cache_control"));
}

TEST(Gemini, CountsThoughtsInAndLeavesTheirTextOut) {
  const auto answer = gathered(
      Protocol::Gemini,
      {{"", R"({"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"Hel"}]}}],
                "usageMetadata":{"promptTokenCount":7}})"},
       {"",
        R"({"modelVersion":"m-2","candidates":[{"content":{"parts":[{"text":"lo"}]},
            "finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,
            "cachedContentTokenCount":3,"candidatesTokenCount":5,"thoughtsTokenCount":2}})"}});
  EXPECT_TRUE(answer->complete());
  EXPECT_EQ(answer->text(), "Hello");
  EXPECT_EQ(answer->usage(), (Usage{.prompt = 7, .answer = 7, .cached = 3, .reasoning = 2}));
}

TEST(Gemini, SaysThatAPromptWasRefused) {
  auto answer = make_answer(Protocol::Gemini);
  EXPECT_EQ(answer->set_whole(R"({"promptFeedback":{"blockReason":"SAFETY"}})").error().message(),
            "the service refused the prompt: SAFETY");
  EXPECT_EQ(answer->set_whole(R"([{"error":{"code":503,"message":"later"}}])").error().kind(),
            ErrorKind::Unavailable);
}

TEST(Converse, GathersFramesAndKnowsExceptions) {
  const auto answer = gathered(
      Protocol::Converse,
      {{"messageStart", R"({"role":"assistant"})"},
       {"contentBlockDelta", R"({"delta":{"reasoningContent":{"text":"hm"}}})"},
       {"contentBlockDelta", R"({"delta":{"text":"Hello"}})"},
       {"messageStop", R"({"stopReason":"end_turn"})"},
       {"metadata", R"({"usage":{"inputTokens":4,"outputTokens":5,"cacheReadInputTokens":3}})"}});
  EXPECT_TRUE(answer->complete());
  EXPECT_EQ(answer->text(), "Hello");
  EXPECT_EQ(answer->usage(), (Usage{.prompt = 7, .answer = 5, .cached = 3}));
  auto busy = make_answer(Protocol::Converse);
  EXPECT_EQ(busy->add_event("throttlingException", R"({"message":"slow"})").error().kind(),
            ErrorKind::Unavailable);
}

TEST(Protocols, ReadWholeAnswersOfServersThatDoNotStream) {
  const std::pair<Protocol, const char*> kWhole[] = {
      {Protocol::Chat, R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]})"},
      {Protocol::Responses,
       R"({"output":[{"content":[{"type":"output_text","text":"x"}]}],"status":"completed"})"},
      {Protocol::Messages, R"({"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"})"},
      {Protocol::Gemini,
       R"({"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]})"},
      {Protocol::Converse,
       R"({"output":{"message":{"content":[{"text":"x"}]}},"stopReason":"end_turn"})"}};
  for (const auto& [protocol, json] : kWhole) {
    auto answer = make_answer(protocol);
    ASSERT_TRUE(answer->set_whole(json)) << json;
    EXPECT_EQ(answer->text(), "x") << json;
    EXPECT_TRUE(answer->complete()) << json;
    EXPECT_FALSE(make_answer(protocol)->set_whole("{}")) << name_of(protocol);
    EXPECT_FALSE(make_answer(protocol)->set_whole("[1]")) << name_of(protocol);
    const std::string half(json, std::string_view(json).size() / 2);
    EXPECT_FALSE(make_answer(protocol)->set_whole(half)) << half;
  }
}

TEST(Protocols, LeaveOutWhatAModelCannotDo) {
  const ModelFacts nothing{.temperature = false, .seed = false, .schema = false};
  const Request request{.prompt = "p",
                        .temperature = 0.5,
                        .effort = "high",
                        .schema = AnswerSchema{"plan", R"({"type":"object"})"},
                        .seed = 7};
  for (const auto protocol : kAll) {
    const auto text = request_body(protocol, request, nothing, "m");
    for (const auto* word : {"emperature", "seed", "chema", "high", "effort", "hinking"})
      EXPECT_EQ(text.find(word), std::string::npos) << text;
  }
}

TEST(Protocols, SayEffortSchemaAndLimitInTheirOwnWords) {
  const Request request{.prompt = "p",
                        .max_tokens = 1000,
                        .effort = "high",
                        .schema = AnswerSchema{"plan", R"({"type":"object"})"}};
  const Json schema = {{"type", "object"}};
  const auto with = [](const char* effort) { return ModelFacts{.effort = effort}; };
  Json sent = body(Protocol::Chat, request, with("reasoning_effort"));
  EXPECT_EQ(sent["reasoning_effort"], "high");
  EXPECT_EQ(sent["max_tokens"], 1000);
  EXPECT_EQ(sent["response_format"]["json_schema"]["schema"], schema);
  EXPECT_EQ(body(Protocol::Chat, request,
                 {.token_field = "max_completion_tokens"})["max_completion_tokens"],
            1000);
  sent = body(Protocol::Responses, request, with("reasoning_effort"));
  EXPECT_EQ(sent["reasoning"]["effort"], "high");
  EXPECT_EQ(sent["text"]["format"]["schema"], schema);
  sent = body(Protocol::Messages, request, with("output_config"));
  EXPECT_EQ(sent["output_config"]["effort"], "high");
  EXPECT_EQ(sent["output_config"]["format"]["schema"], schema);
  EXPECT_EQ(body(Protocol::Messages, request, with("thinking_budget"))["thinking"]["budget_tokens"],
            500);
  sent = body(Protocol::Gemini, request, with("thinking_level"));
  EXPECT_EQ(sent["generationConfig"]["thinkingConfig"]["thinkingLevel"], "high");
  EXPECT_EQ(sent["generationConfig"]["responseJsonSchema"], schema);
  sent = body(Protocol::Converse, request, with("output_config"));
  EXPECT_EQ(sent["outputConfig"]["effort"], "high");
  EXPECT_EQ(sent["inferenceConfig"]["maxTokens"], 1000);
}

TEST(Protocols, SurviveAnyBytesAndNeverBelieveThem) {
  Rng rng(1);
  const std::string alphabet = "{}[]\":,dataconte\n\r \\u01\x80\xff";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(60); n > 0; --n)
      text += alphabet[rng.below(alphabet.size())];
    for (const auto protocol : kAll) {
      auto answer = make_answer(protocol);
      (void)answer->add_event("metadata", text);
      EXPECT_FALSE(answer->set_whole(text)) << text;
    }
  }
}

TEST(Protocols, SurviveWordsOfAnyTypeInAnyPlace) {
  // Every value of a good answer is replaced by one of another type, one after the other.
  const Json good = *parse_json(
      R"({"type":"message_delta","model":"m","choices":[{"delta":{"content":"x"},
          "message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,
          "input_tokens":1,"prompt_tokens_details":{"cached_tokens":1}},"delta":{"type":"text_delta",
          "text":"x"},"content":[{"type":"text","text":"x"}],"candidates":[{"content":{"parts":
          [{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1},
          "output":{"message":{"content":[{"text":"x"}]}},"response":{"usage":{}}})");
  const Json flat = good.flatten();
  const Json strange[] = {
      nullptr, true, -1, 1e300, "x", Json::array(), Json::object(), 18446744073709551615ULL};
  for (const auto& item : flat.items()) {
    for (const Json& value : strange) {
      Json bad = good;
      bad[Json::json_pointer(item.key())] = value;
      for (const auto protocol : kAll) {
        auto answer = make_answer(protocol);
        (void)answer->add_event("metadata", to_text(bad));
        (void)answer->set_whole(to_text(bad));
        EXPECT_GE(answer->usage().prompt, 0);
      }
    }
  }
}

}  // namespace
}  // namespace cuco::llm
