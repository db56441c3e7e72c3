// SPDX-License-Identifier: Apache-2.0
// cuco-serve ROOT PORT: answers on this machine's loopback alone. Started by `cuco serve`.
#include <cstdlib>

#include <fmt/format.h>
#include <httplib.h>

#include "dashboard/pages.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "cuco-serve: start it with: cuco serve\n");
    return 2;
  }
  const cuco::system::Path root(argv[1]);
  const int wanted = std::atoi(argv[2]);
  constexpr const char* kHost = "127.0.0.1";
  httplib::Server server;
  server.Get(".*", [&root](const httplib::Request& request, httplib::Response& response) {
    // A foreign page whose name resolves to this machine (DNS rebinding) gets nothing.
    const auto host = request.get_header_value("Host");
    if (!host.starts_with("127.0.0.1") && !host.starts_with("localhost")) {
      response.status = 403;
      return;
    }
    auto answer = cuco::dashboard::answer(root, request.path);
    response.status = answer.status;
    response.set_header("Cache-Control", "no-store");
    response.set_header("Content-Security-Policy",
                        "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
    response.set_content(answer.body, answer.type.c_str());
  });
  const int port = wanted == 0                          ? server.bind_to_any_port(kHost)
                   : server.bind_to_port(kHost, wanted) ? wanted
                                                        : -1;
  if (port < 0) {
    fmt::print(stderr,
               "cuco: port {} is in use; choose another with --port, or 0 for any free port\n",
               wanted);
    return 3;
  }
  fmt::print("runs in {}   http://{}:{}/   stop with Ctrl-C\n", root.string(), kHost, port);
  std::fflush(stdout);
  return server.listen_after_bind() ? 0 : 1;
}
