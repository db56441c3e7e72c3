// SPDX-License-Identifier: Apache-2.0
// The endpoint provider against the mock server @copilotkit/aimock.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "llm/endpoint_provider.h"
#include "support/require.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"

namespace cuco::llm {
namespace {

const system::Path kHere = system::Path(CUCO_SOURCE_DIR) / "tests/llm";
const system::Path kInstalled = system::Path(CUCO_BINARY_DIR) / "llm_mock";
const std::string kKey = "sk-test-0123456789";

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

bool answers(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool up = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return up;
}

bool install_mock() {
  const auto server = kInstalled / "node_modules/@copilotkit/aimock/dist/cli.js";
  if (std::filesystem::exists(server)) return true;
  std::filesystem::create_directories(kInstalled);
  for (const auto* name : {"package.json", "package-lock.json"}) {
    std::filesystem::copy_file(kHere / name, kInstalled / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  const auto command =
      "cd '" + kInstalled.string() + "' && npm ci --no-audit --no-fund >npm.log 2>&1";
  return std::system(command.c_str()) == 0 && std::filesystem::exists(server);
}

class Endpoints : public testing::Test {
 protected:
  void SetUp() override {
    const bool installed =
        std::system("command -v node >/dev/null && command -v npm >/dev/null") == 0;
    CUCO_NEEDS("npm", installed, "node and npm are not installed; the endpoint is NOT tested");
    CUCO_NEEDS("npm", install_mock(), "npm ci failed; the endpoint is NOT tested");
  }
  void TearDown() override { stop(); }

  /// Starts the server with extra options and gives its address.
  std::string serve(std::vector<std::string> extra = {}) {
    const int port = free_port();
    std::vector<std::string> words = {
        "node", (kInstalled / "node_modules/@copilotkit/aimock/dist/cli.js").string(),
        "-p",   std::to_string(port),
        "-f",   (kHere / "fixtures.json").string()};
    words.insert(words.end(), extra.begin(), extra.end());
    std::vector<char*> argv;
    for (auto& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
      if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(1);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    for (int i = 0; i < 200 && !answers(port); ++i)
      ::usleep(100'000);
    return "http://127.0.0.1:" + std::to_string(port) + "/v1";
  }

  void stop() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

  Result<Reply> ask(const std::string& url,
                    const std::string& prompt,
                    int attempts = 1,
                    std::chrono::seconds deadline = std::chrono::seconds(30)) {
    EndpointProvider provider({.url = url, .model = "mock", .key = kKey},
                              {.attempts = attempts, .first_pause = std::chrono::milliseconds(10)},
                              clock_);
    return provider.complete({.system = "s", .prompt = prompt, .deadline = deadline});
  }

  system::SystemClock clock_;
  pid_t child_ = -1;
};

TEST_F(Endpoints, StreamAnAnswer) {
  const auto reply = ask(serve({"--chunk-size", "3"}), "please optimise this");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->text, "Here is a faster kernel:\n```cuda\n__global__ void k() {}\n```\n");
  EXPECT_GT(reply->seconds, 0);
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
  const auto url = "http://127.0.0.1:" + std::to_string(free_port()) + "/v1";
  const auto reply = ask(url, "optimise", 2);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind(), ErrorKind::Unavailable) << reply.error().message();
}

}  // namespace
}  // namespace cuco::llm
