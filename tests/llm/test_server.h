// SPDX-License-Identifier: Apache-2.0
/// \file
/// A server process for one test: started, waited for, killed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cuco::llm {

class TestServer {
 public:
  TestServer() = default;
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() { stop(); }

  /// Runs the words; waits until somebody listens at the port. False: nobody does.
  bool start(std::vector<std::string> words, int port);
  /// The same for a server that chooses its port itself and writes it to `port_file`; 0: it did
  /// not.
  int start_and_ask(std::vector<std::string> words, const std::string& port_file);
  void stop();

 private:
  void spawn(std::vector<std::string>& words);
  pid_t child_ = -1;
};

/// A port of 127.0.0.1 that nobody listens at.
[[nodiscard]] int free_port();

}  // namespace cuco::llm
