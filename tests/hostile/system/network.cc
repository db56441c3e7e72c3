// SPDX-License-Identifier: Apache-2.0
// Tries to reach a service outside: TCP to a listener of the test on 127.0.0.1 (port by argument),
// and a datagram to a public address.
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "attack.h"

int main(int argc, char** argv) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 80));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int stream = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(stream, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    got_through("TCP to a service of the host");
  }
  ::inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  const int datagram = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (::sendto(datagram, "x", 1, 0, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 1) {
    got_through("a datagram to the outside");
  }
  refused("network");
}
