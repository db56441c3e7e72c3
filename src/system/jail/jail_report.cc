// SPDX-License-Identifier: Apache-2.0
#include "system/jail/jail_report.h"

#include <fcntl.h>

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "system/os/socket.h"

namespace cuco::system::jail {
namespace {

struct Head {
  char kind = 0;
  int number = 0;
  int stragglers = 0;
};

void send_packet(int socket, const Head& head, std::string_view text, std::span<const int> fds) {
  std::string packet(sizeof(Head), '\0');
  std::memcpy(packet.data(), &head, sizeof(Head));
  packet += text.substr(0, 4000);
  Fd borrowed(socket);
  // The keeper may be gone already; then there is nobody to report to.
  static_cast<void>(send_with_fds(borrowed, packet, fds));
  static_cast<void>(borrowed.release());
}

std::optional<Report::Kind> kind_of(char letter) {
  switch (letter) {
    case 'M':
      return Report::Kind::Missing;
    case 'R':
      return Report::Kind::Refused;
    case 'F':
      return Report::Kind::Failed;
    case 'L':
      return Report::Kind::Listener;
    case 'E':
      return Report::Kind::Ended;
    default:
      return std::nullopt;
  }
}

}  // namespace

void Reporter::send(char kind, int number, std::string_view text) const {
  send_packet(socket_, {kind, number, 0}, text, {});
}

void Reporter::missing(Fence fence, std::string_view why) const {
  if (tier_ == Tier::Own) return send('M', static_cast<int>(fence), why);
  send('R', static_cast<int>(fence), why);
  ::_exit(125);
}

void Reporter::failed(std::string_view why) const {
  send('F', 0, why);
  ::_exit(125);
}

void Reporter::seccomp_listener(int fd) const {
  send_packet(socket_, {'L', 0, 0}, {}, std::array<int, 1>{fd});
}

void Reporter::ended(int status, int stragglers) const {
  send_packet(socket_, {'E', status, stragglers}, {}, {});
}

std::optional<Report> next_report(const Fd& socket) {
  std::array<std::byte, 8192> buffer{};
  auto received = receive_with_fds(socket, buffer);
  if (!received || received->bytes < sizeof(Head)) return std::nullopt;
  Head head;
  std::memcpy(&head, buffer.data(), sizeof(Head));
  const auto kind = kind_of(head.kind);
  if (!kind) return std::nullopt;
  Report report;
  report.kind = *kind;
  report.number = head.number;
  report.stragglers = head.stragglers;
  report.text.assign(reinterpret_cast<const char*>(buffer.data()) + sizeof(Head),
                     received->bytes - sizeof(Head));
  if (!received->fds.empty()) report.fd = std::move(received->fds.front());
  return report;
}

}  // namespace cuco::system::jail
