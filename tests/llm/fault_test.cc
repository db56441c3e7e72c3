// SPDX-License-Identifier: Apache-2.0
// Every HTTP service's provider against fault_server.py: the same faults, whatever the protocol.
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/catalogue/catalogue.h"
#include "llm/http/endpoint_provider.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"
#include "test_server.h"

namespace cuco::llm {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const system::Path kHere = system::Path(CUCO_SOURCE_DIR) / "tests/llm";
const std::string kKey = "sk-test-0123456789abcdef";

/// By the service's name in the catalogue, which decides protocol, path and how the key travels.
class Faults : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto made = system::TempFolder::create("cuco_faults");
    ASSERT_TRUE(made);
    folder_.emplace(*std::move(made));
    ASSERT_NE(serve({}), 0) << "fault_server.py does not start";
  }

  int serve(const std::vector<std::string>& more) {
    const auto file = folder_->path() / "port";
    std::filesystem::remove(file);
    std::vector<std::string> words = {"python3", (kHere / "fault_server.py").string(),
                                      file.string()};
    words.insert(words.end(), more.begin(), more.end());
    return port_ = server_.start_and_ask(words, file.string());
  }

  Endpoint endpoint(const std::string& fault, const std::string& scheme = "http") const {
    const Catalogue& shipped = Catalogue::shipped();
    Endpoint made;
    made.service = *shipped.service(GetParam());
    made.service.url = fmt::format("{}://127.0.0.1:{}", scheme, port_);
    made.model = "fault-" + fault;
    made.facts.silence = 1500ms;
    made.facts.prices = Prices{1, 2, 0.5, 1};
    made.credentials = {.key = kKey, .access_id = "ID"};
    return made;
  }

  Result<Reply> ask(const Endpoint& endpoint,
                    std::chrono::seconds deadline = 30s,
                    int attempts = 4) {
    EndpointProvider provider(endpoint, {.attempts = attempts, .first_pause = 10ms}, clock_);
    Request request{.system = "s", .prompt = "ä question", .seed = 3, .deadline = deadline};
    request.max_tokens = 100;
    return provider.complete(request);
  }

  /// The whole answer, of one attempt, counted once.
  void expect_answer(const std::string& fault, int attempts) {
    const auto reply = ask(endpoint(fault));
    ASSERT_TRUE(reply) << fault << ": " << reply.error().message();
    EXPECT_EQ(reply->text, "Hello ä") << fault;
    EXPECT_EQ(reply->attempts, attempts) << fault;
    EXPECT_EQ(reply->usage, (Usage{.prompt = 11, .answer = 5, .cached = 4})) << fault;
  }

  void expect_failure(const std::string& fault, ErrorKind kind, const std::string& words) {
    const auto reply = ask(endpoint(fault), 10s);
    ASSERT_FALSE(reply) << fault << ": " << reply->text;
    EXPECT_EQ(reply.error().kind(), kind) << fault << ": " << reply.error().message();
    EXPECT_THAT(reply.error().message(), HasSubstr(words)) << fault;
    EXPECT_THAT(reply.error().message(), Not(HasSubstr(kKey))) << fault;
  }

  void expect_no_tls(const std::string& words) {
    const auto reply = ask(endpoint("none", "https"));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind(), ErrorKind::Protocol) << reply.error().message();
    EXPECT_THAT(reply.error().message(), HasSubstr(words));
  }

  std::optional<system::TempFolder> folder_;
  system::SystemClock clock_;
  TestServer server_;
  int port_ = 0;
};

TEST_P(Faults, NoneGivesTheStreamedAnswerWithItsCost) {
  const auto reply = ask(endpoint("none"));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->text, "Hello ä");
  EXPECT_TRUE(reply->streamed);
  EXPECT_FALSE(reply->cut_off);
  EXPECT_EQ(reply->answered_by, "");
  EXPECT_EQ(reply->usage, (Usage{.prompt = 11, .answer = 5, .cached = 4}));
  EXPECT_NEAR(reply->dollars, (7 * 1 + 4 * 0.5 + 5 * 2) * 1e-6, 1e-12);
}

TEST_P(Faults, ThatPassAreSurvivedWithoutCountingTwice) {
  expect_answer("slow-first-byte", 1);
  expect_answer("busy", 2);
  expect_answer("busy-date", 2);
  expect_answer("twice-500", 3);
  expect_answer("truncated-json", 2);
  expect_answer("invalid-utf8", 2);
  expect_answer("reset", 2);
  expect_answer("reset-in-stream", 2);
  expect_answer("ends-early", 2);
  expect_answer("truncated-event", 2);
  expect_answer("overloaded-in-stream", 2);
  expect_answer("passing-statuses", 4);
}

TEST_P(Faults, OfSilenceEndTheAttemptAndNotTheCall) {
  expect_answer("silent", 2);
  expect_answer("stall", 2);
  const auto start = clock_.now();
  const auto reply = ask(endpoint("stall-for-ever"), 5s);
  ASSERT_FALSE(reply);
  EXPECT_LT(clock_.now() - start, 20s) << "a stalled call may not wedge a run";
}

TEST_P(Faults, ThatStayAreNamedInTheServicesWords) {
  expect_failure("wrong-model", ErrorKind::Protocol, "does not exist");
  expect_failure("no-money", ErrorKind::Protocol, "exceeded your current quota");
  expect_failure("always-500", ErrorKind::Unavailable, "HTTP 500: the service says: oops");
  expect_failure("busy-for-an-hour", ErrorKind::Unavailable, "it asks to wait 3600 s");
  expect_failure("garbage", ErrorKind::Protocol, "asked 4 times");
  expect_failure("empty", ErrorKind::Protocol, "an empty answer");
  expect_failure("redirect", ErrorKind::Protocol, "HTTP 302");
  expect_failure("echoes-key", ErrorKind::Protocol, "HTTP 401");
}

TEST_P(Faults, OfTenMegabytesCostOneCall) {
  expect_failure("huge", ErrorKind::Protocol, "longer than 4 MiB");
  expect_failure("huge-whole", ErrorKind::Protocol, "longer than 4 MiB");
}

TEST_P(Faults, OfTlsAreNotAskedAgainAndSayWhy) {
  const auto cert = (folder_->path() / "cert.pem").string();
  const auto key = (folder_->path() / "key.pem").string();
  // Talking TLS to a server that does not, then to one that nobody has vouched for.
  expect_no_tls("wrong version");
  const auto command = fmt::format(
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout '{}' -out '{}' -days 2 -subj "
      "/CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null",
      key, cert);
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_NE(serve({"--tls", cert, key}), 0);
  expect_no_tls("certificate");
  ::setenv("SSL_CERT_FILE", cert.c_str(), 1);
  const auto trusted = ask(endpoint("none", "https"));
  ::unsetenv("SSL_CERT_FILE");
  ASSERT_TRUE(trusted) << trusted.error().message();
  EXPECT_EQ(trusted->text, "Hello ä");
}

TEST_P(Faults, OfAnotherModelAreTold) {
  const auto reply = ask(endpoint("other-model"));
  ASSERT_TRUE(reply) << reply.error().message();
  // Converse does not say who answers.
  const bool says = std::string_view(GetParam()) != "bedrock";
  EXPECT_EQ(reply->answered_by, says ? fmt::format("{}:quite-another-one", GetParam()) : "");
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryService,
    Faults,
    testing::Values("openai", "openai-responses", "anthropic", "gemini", "azure", "bedrock"),
    [](const auto& of) {
      std::string name = of.param;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace cuco::llm
