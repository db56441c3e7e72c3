// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages between the processes of a run, each of which may bring a descriptor along.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cuco::loopback {

/// One end of a connected Unix socket. Closed with it.
class Channel {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10U;

  struct Message {
    std::string bytes;
    int descriptor = -1;  ///< Now the receiver's.
  };

  Channel() = default;
  explicit Channel(int socket) : socket_(socket) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// A socket that listens at that path; -1, with errno, if it cannot.
  [[nodiscard]] static int listen(const std::string& path);
  /// Nothing, with errno: nobody listens there.
  [[nodiscard]] static std::optional<Channel> connect(const std::string& path);

  /// False: nobody is at the other end any more, or `bytes` are more than kMostBytes. A descriptor
  /// stays the sender's, too.
  [[nodiscard]] bool send(std::string_view bytes, int descriptor = -1);
  /// Waits. Nothing: nobody is at the other end any more, or it took longer than the patience.
  [[nodiscard]] std::optional<Message> receive();
  void set_patience(int seconds);

  [[nodiscard]] bool is_open() const { return socket_ >= 0; }

 private:
  int socket_ = -1;
};

}  // namespace cuco::loopback
