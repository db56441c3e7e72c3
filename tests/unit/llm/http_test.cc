// SPDX-License-Identifier: Apache-2.0
// Keys, signatures, addresses and pauses: all of HTTP that needs no network.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "llm/catalogue/catalogue.h"
#include "llm/http/helper_result.h"
#include "llm/http/http_request.h"
#include "llm/http/retry.h"
#include "llm/http/sigv4.h"

namespace cuco::llm {
namespace {
using testing::HasSubstr;
using namespace std::chrono_literals;

/// 2015-08-30 12:36:00 UTC, the moment of Amazon's published examples.
constexpr Nanoseconds kMoment = 1440938160s;

TEST(SigV4, AgreesWithAmazonsPublishedExamples) {
  const Credentials example{"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "AKIDEXAMPLE", ""};
  SignedRequest request{.method = "GET", .host = "example.amazonaws.com", .path = "/"};
  auto headers = sign(request, "us-east-1", "service", example, kMoment);
  EXPECT_EQ(headers.at("x-amz-date"), "20150830T123600Z");
  EXPECT_EQ(headers.at("Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  request.method = "POST";
  headers = sign(request, "us-east-1", "service", example, kMoment);
  EXPECT_THAT(headers.at("Authorization"),
              HasSubstr("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"));
}

TEST(SigV4, SignsTheSessionToken) {
  const SignedRequest request{.method = "POST", .host = "h", .path = "/"};
  const auto headers = sign(request, "r", "s", {"secret", "id", "token"}, kMoment);
  EXPECT_EQ(headers.at("x-amz-security-token"), "token");
  EXPECT_THAT(headers.at("Authorization"),
              HasSubstr("SignedHeaders=host;x-amz-date;x-amz-security-token"));
}

HttpRequest request_to(const char* service, const char* model, Credentials credentials) {
  const Catalogue& shipped = Catalogue::shipped();
  Endpoint endpoint{*shipped.service(service), shipped.model(service, model), model,
                    std::move(credentials)};
  if (endpoint.service.url.empty()) endpoint.service.url = "https://mine.openai.azure.com/";
  auto made = http_request(endpoint, {.system = "s", .prompt = "p"}, kMoment);
  EXPECT_TRUE(made) << made.error().message();
  return *made;
}

TEST(HttpRequests, GoWhereEachServiceWantsThem) {
  const auto openai = request_to("openai", "gpt-4o", {.key = "k"});
  EXPECT_EQ(openai.url, "https://api.openai.com/v1/chat/completions");
  EXPECT_EQ(openai.headers.at("Authorization"), "Bearer k");
  EXPECT_EQ(request_to("openai-responses", "m", {}).url, "https://api.openai.com/v1/responses");
  EXPECT_EQ(request_to("openai", "m", {}).headers.count("Authorization"), 0U);
  const auto anthropic = request_to("anthropic", "claude", {.key = "k"});
  EXPECT_EQ(anthropic.url, "https://api.anthropic.com/v1/messages");
  EXPECT_EQ(anthropic.headers.at("x-api-key"), "k");
  EXPECT_EQ(anthropic.headers.at("anthropic-version"), "2023-06-01");
  const auto gemini = request_to("gemini", "gemini-2.5-pro", {.key = "k"});
  EXPECT_EQ(gemini.url,
            "https://generativelanguage.googleapis.com/v1beta/models/"
            "gemini-2.5-pro:streamGenerateContent?alt=sse");
  EXPECT_EQ(gemini.headers.at("x-goog-api-key"), "k");
  const auto azure = request_to("azure", "my-gpt", {.key = "k"});
  EXPECT_EQ(azure.url,
            "https://mine.openai.azure.com/openai/deployments/my-gpt/chat/completions"
            "?api-version=2024-10-21");
  EXPECT_EQ(azure.headers.at("api-key"), "k");
}

TEST(HttpRequests, ToBedrockAreSignedAndDoNotCarryTheSecret) {
  const auto bedrock =
      request_to("bedrock", "amazon.nova-micro-v1:0", {"the-secret-key", "ID", ""});
  EXPECT_EQ(bedrock.url,
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-micro-v1%3A0/"
            "converse-stream");
  EXPECT_THAT(bedrock.headers.at("Authorization"),
              HasSubstr("Credential=ID/20150830/us-east-1/bedrock/aws4_request"));
  for (const auto& [name, value] : bedrock.headers)
    EXPECT_EQ(value.find("the-secret-key"), std::string::npos) << name;
}

TEST(HttpRequests, AcceptAPastedAddressAndRefuseWhatIsNone) {
  Endpoint endpoint{.service = {.name = "x", .url = "http://h:1/v1/chat/completions"},
                    .model = "m"};
  EXPECT_EQ(http_request(endpoint, {}, kMoment)->url, "http://h:1/v1/chat/completions");
  endpoint.service.url = "http://h:1/v1/";
  EXPECT_EQ(http_request(endpoint, {}, kMoment)->url, "http://h:1/v1/chat/completions");
  endpoint.service.url = "file:///etc/passwd";
  EXPECT_THAT(http_request(endpoint, {}, kMoment).error().message(), HasSubstr("is no URL"));
  endpoint.service.url = "";
  EXPECT_THAT(http_request(endpoint, {}, kMoment).error().message(), HasSubstr("set llm.endpoint"));
}

TEST(HttpRequests, AskForNoMoreThanTheModelCanWrite) {
  const Endpoint endpoint{.service = {.url = "http://h"}, .facts = {.most_answer = 100}};
  const auto made = http_request(endpoint, {.max_tokens = 500}, kMoment);
  EXPECT_EQ((*parse_json(made->body))["max_tokens"], 100);
}

TEST(Retries, DoubleWithJitterFromTheSeedAndObeyTheServer) {
  const RetryPolicy policy{.first_pause = 1000ms, .longest_pause = 3000ms};
  Backoff one(policy, 7), same(policy, 7), other(policy, 8);
  bool differs = false;
  const std::chrono::milliseconds whole[] = {1000ms, 2000ms, 3000ms, 3000ms};
  for (const auto most : whole) {
    const auto pause = one.next(0ms);
    EXPECT_GE(pause, most / 2);
    EXPECT_LE(pause, most);
    EXPECT_EQ(pause, same.next(0ms));
    differs = differs || pause != other.next(0ms);
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(one.next(90s), 90s);
}

TEST(Retries, AreForStatusesThatMayPass) {
  for (const long status : {408, 409, 429, 500, 502, 503, 504, 529})
    EXPECT_TRUE(is_passing_status(status)) << status;
  for (const long status : {200, 301, 400, 401, 403, 404, 413, 422, 501, 505})
    EXPECT_FALSE(is_passing_status(status)) << status;
}

TEST(HelperWords, SurviveTheWayThereAndBack) {
  HelperOrder order{.protocol = Protocol::Gemini, .silence = 5ms};
  order.request = {"http://h", {{"a", "b"}}, "body"};
  const auto read = parse_helper_order(to_json(order));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->protocol, Protocol::Gemini);
  EXPECT_EQ(read->request.headers.at("a"), "b");
  EXPECT_EQ(read->silence, 5ms);
  HelperResult result{.trouble = Trouble::Busy, .problem = "p", .status = 429};
  result.usage = {1, 2, 3, 4, 5};
  const auto said = parse_helper_result(to_json(result));
  ASSERT_TRUE(said);
  EXPECT_EQ(said->trouble, Trouble::Busy);
  EXPECT_EQ(said->usage, result.usage);
  EXPECT_FALSE(parse_helper_result("{}"));
  EXPECT_FALSE(parse_helper_order("nonsense"));
}

}  // namespace
}  // namespace cuco::llm
