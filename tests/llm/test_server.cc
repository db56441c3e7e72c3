// SPDX-License-Identifier: Apache-2.0
#include "test_server.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace cuco::llm {
namespace {

constexpr int kTries = 300;
constexpr int kTryMicroseconds = 100'000;

sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool answers(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  auto address = local(port);
  const bool up = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return up;
}

}  // namespace

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  auto address = local(0);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

void TestServer::spawn(std::vector<std::string>& words) {
  stop();
  std::vector<char*> argv;
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  child_ = ::fork();
  if (child_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(1);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

bool TestServer::start(std::vector<std::string> words, int port) {
  spawn(words);
  for (int i = 0; i < kTries; ++i) {
    if (answers(port)) return true;
    ::usleep(kTryMicroseconds);
  }
  return false;
}

int TestServer::start_and_ask(std::vector<std::string> words, const std::string& port_file) {
  spawn(words);
  for (int i = 0; i < kTries; ++i) {
    int port = 0;
    if (std::ifstream(port_file) >> port) return port;
    ::usleep(kTryMicroseconds);
  }
  return 0;
}

void TestServer::stop() {
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
}

}  // namespace cuco::llm
