// SPDX-License-Identifier: Apache-2.0
/// \file
/// Frames over a Unix socket: blocking for a rank's thread, incremental for the server.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "shims/wire/protocol.h"
#include "shims/wire/view.h"

namespace cuco::wire {

/// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

/// A whole message as received.
struct Frame {
  Header header;
  std::vector<std::byte> payload;
  Fd fd;
};

/// Connects to the server's socket.
[[nodiscard]] Result<Fd> connect_to(const std::string& path);

/// Listens at `path`, which must not exist.
[[nodiscard]] Result<Fd> listen_at(const std::string& path);

/// Writes a frame whole; waits for room. `fd` -1: none is passed. False: the peer is gone.
[[nodiscard]] bool send_frame(int socket, Header header, Bytes head, Bytes tail, int fd = -1);

/// Reads one frame whole. nullopt: the peer is gone or sent something that is no frame.
[[nodiscard]] std::optional<Frame> receive_frame(int socket);

/// Collects a non-blocking socket's bytes into frames.
class FrameReader {
 public:
  enum class State { Waiting, Complete, Closed, Malformed };

  /// Reads what is there. Complete: take() has a frame. Malformed: reason() says why.
  State read_some(int socket);
  [[nodiscard]] Frame take();
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  State parse();

  struct Passed {
    std::size_t read_up_to;  ///< Bytes of `buffer_` that were there when it had come.
    Fd fd;
  };

  std::vector<std::byte> buffer_;
  std::deque<Passed> fds_;
  std::string reason_;
};

}  // namespace cuco::wire
