// SPDX-License-Identifier: Apache-2.0
// Every HTTP service's provider against a server that was not written here: @copilotkit/aimock.
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/catalogue/catalogue.h"
#include "llm/http/endpoint_provider.h"
#include "support/require.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"
#include "test_server.h"

namespace cuco::llm {
namespace {

const system::Path kHere = system::Path(CUCO_SOURCE_DIR) / "tests/llm";
const system::Path kInstalled = system::Path(CUCO_BINARY_DIR) / "llm_mock";
const std::string kKey = "sk-test-0123456789";

bool install_mock() {
  const auto modules = kInstalled / "node_modules";
  const auto complete = [&] {
    return std::filesystem::exists(modules / "@copilotkit/aimock/dist/cli.js") &&
           std::filesystem::exists(modules / "aws4") &&
           std::filesystem::exists(modules / "@smithy/signature-v4");
  };
  if (complete()) return true;
  std::filesystem::create_directories(kInstalled);
  for (const auto* name : {"package.json", "package-lock.json"}) {
    std::filesystem::copy_file(kHere / name, kInstalled / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  const auto command =
      "cd '" + kInstalled.string() + "' && npm ci --no-audit --no-fund >npm.log 2>&1";
  return std::system(command.c_str()) == 0 && complete();
}

class Endpoints : public testing::Test {
 protected:
  void SetUp() override {
    const bool installed =
        std::system("command -v node >/dev/null && command -v npm >/dev/null") == 0;
    CUCO_NEEDS("npm", installed, "node and npm are not installed; the endpoint is NOT tested");
    CUCO_NEEDS("npm", install_mock(), "npm ci failed; the endpoint is NOT tested");
  }

  /// Starts the server with extra options and gives its address.
  std::string serve(std::vector<std::string> extra = {}) {
    const int port = free_port();
    std::vector<std::string> words = {
        "node", (kInstalled / "node_modules/@copilotkit/aimock/dist/cli.js").string(),
        "-p",   std::to_string(port),
        "-f",   (kHere / "fixtures.json").string()};
    words.insert(words.end(), extra.begin(), extra.end());
    EXPECT_TRUE(server_.start(words, port));
    return "http://127.0.0.1:" + std::to_string(port);
  }

  Result<Reply> ask(const std::string& url,
                    const std::string& prompt,
                    int attempts = 1,
                    std::chrono::seconds deadline = std::chrono::seconds(30)) {
    return ask_service("openai", url + "/v1", prompt, attempts, deadline);
  }

  Result<Reply> ask_service(const std::string& service,
                            const std::string& url,
                            const std::string& prompt,
                            int attempts = 1,
                            std::chrono::seconds deadline = std::chrono::seconds(30)) {
    Endpoint endpoint{.service = *Catalogue::shipped().service(service), .model = "mock"};
    endpoint.service.url = url;
    endpoint.credentials = {.key = kKey, .access_id = "AKIDEXAMPLE"};
    EndpointProvider provider(
        endpoint, {.attempts = attempts, .first_pause = std::chrono::milliseconds(10)}, clock_);
    return provider.complete({.system = "s", .prompt = prompt, .deadline = deadline});
  }

  system::SystemClock clock_;
  TestServer server_;
};

TEST_F(Endpoints, OfEveryProtocolStreamAnAnswer) {
  const auto url = serve({"--chunk-size", "3"});
  const std::pair<const char*, std::string> kServices[] = {
      {"openai", url + "/v1"},
      {"openai-responses", url + "/v1"},
      {"anthropic", url + "/v1"},
      {"gemini", url + "/v1beta"},
      {"azure", url},
      {"bedrock", url},
  };
  for (const auto& [service, base] : kServices) {
    const auto reply = ask_service(service, base, "please optimise this");
    ASSERT_TRUE(reply) << service << ": " << reply.error().message();
    EXPECT_EQ(reply->text, "Here is a faster kernel:\n```cuda\n__global__ void k() {}\n```\n")
        << service;
    EXPECT_TRUE(reply->streamed) << service;
    EXPECT_GT(reply->seconds, 0) << service;
  }
}

TEST_F(Endpoints, OfEveryProtocolAreTriedAgainWhenBusy) {
  const auto url = serve();
  const std::pair<const char*, const char*> kServices[] = {
      {"openai", "/v1"},    {"openai-responses", "/v1"},
      {"anthropic", "/v1"}, {"gemini", "/v1beta"},
      {"azure", ""},        {"bedrock", ""},
  };
  for (const auto& [service, base] : kServices) {
    const auto reply = ask_service(service, url + base, "busy", 2, std::chrono::seconds(20));
    ASSERT_FALSE(reply) << service;
    EXPECT_EQ(reply.error().kind(), ErrorKind::Unavailable)
        << service << ": " << reply.error().message();
  }
}

TEST_F(Endpoints, SayWhatTheServerSaysButNeverTheKey) {
  const auto reply = ask(serve(), "please refuse");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Protocol);
  EXPECT_NE(reply.error().message().find("not allowed"), std::string::npos);
  EXPECT_EQ(reply.error().message().find(kKey), std::string::npos) << reply.error().message();
}

TEST_F(Endpoints, AreTriedAgainWhenBusyAndGivenUpAsUnavailable) {
  const auto reply = ask(serve(), "busy", 3, std::chrono::seconds(20));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Unavailable) << reply.error().message();
}

TEST_F(Endpoints, AreNotBelievedWhenMalformed) {
  const auto reply = ask(serve({"--chaos-malformed", "1"}), "optimise", 2);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().kind(), ErrorKind::Timeout) << reply.error().message();
}

TEST_F(Endpoints, MayDropTheConnection) {
  const auto reply = ask(serve({"--chaos-disconnect", "1"}), "optimise", 2);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Unavailable) << reply.error().message();
}

TEST_F(Endpoints, AreLeftAtTheDeadline) {
  const auto reply = ask(serve({"--latency", "3000"}), "optimise", 1, std::chrono::seconds(2));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Timeout) << reply.error().message();
}

TEST_F(Endpoints, AreUnavailableWhereNobodyListens) {
  const auto url = "http://127.0.0.1:" + std::to_string(free_port());
  const auto reply = ask(url, "optimise", 2);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Unavailable) << reply.error().message();
}

/// The signatures are made anew by Amazon's own signer and by another one.
TEST_F(Endpoints, OfBedrockSignAsAmazonsOwnClientDoes) {
  const int port = free_port();
  const Credentials wholes[] = {{"a/secret+of=some/length", "AKIDEXAMPLE", ""},
                                {"a/secret+of=some/length", "ASIAEXAMPLE", "a/token+of=a-session"}};
  for (const Credentials& credentials : wholes) {
    std::vector<std::string> words = {"node",
                                      (kHere / "sigv4_server.mjs").string(),
                                      std::to_string(port),
                                      kInstalled.string(),
                                      credentials.access_id,
                                      credentials.key};
    if (!credentials.session_token.empty()) words.push_back(credentials.session_token);
    server_.stop();
    ASSERT_TRUE(server_.start(words, port));
    for (const std::string model :
         {"amazon.nova-micro-v1:0", "mock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
          "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/a b~c(1)*!'"}) {
      Endpoint endpoint{.service = *Catalogue::shipped().service("bedrock"),
                        .model = model,
                        .credentials = credentials};
      endpoint.service.url = "http://127.0.0.1:" + std::to_string(port);
      endpoint.service.region = "eu-west-1";
      EndpointProvider provider(endpoint, {.attempts = 1}, clock_);
      const auto reply = provider.complete(
          {.system = "ä", .prompt = "any \"text\"\n", .deadline = std::chrono::seconds(20)});
      ASSERT_TRUE(reply) << model << ": " << reply.error().message();
      EXPECT_THAT(reply->text, testing::HasSubstr("signed /model/")) << model;
    }
    Endpoint wrong{.service = *Catalogue::shipped().service("bedrock"), .model = "mock"};
    wrong.service.url = "http://127.0.0.1:" + std::to_string(port);
    wrong.credentials = {"another-secret", credentials.access_id, credentials.session_token};
    EndpointProvider provider(wrong, {.attempts = 1}, clock_);
    const auto reply = provider.complete({.prompt = "p", .deadline = std::chrono::seconds(20)});
    ASSERT_FALSE(reply);
    EXPECT_THAT(reply.error().message(), testing::HasSubstr("403"));
  }
}

}  // namespace
}  // namespace cuco::llm
