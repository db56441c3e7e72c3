// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "shims/wire/frame_socket.h"

namespace cuco::wire {
namespace {

class FrameReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here_ = Fd(ends[0]);
    there_ = Fd(ends[1]);
  }

  /// `file_bytes` is the size of the file that goes along; 0: none does.
  void send(std::uint16_t type, std::size_t payload, std::int64_t file_bytes = 0) {
    const std::vector<std::byte> bytes(payload, std::byte{7});
    Fd file;
    if (file_bytes > 0) {
      file = Fd(::memfd_create("passed", MFD_CLOEXEC));
      ASSERT_EQ(::ftruncate(file.get(), file_bytes), 0);
    }
    ASSERT_TRUE(send_frame(there_.get(), Header{.type = type}, bytes, {}, file.get()));
  }

  /// What came, as "type:payload:file", or the state.
  std::string next() {
    switch (reader_.read_some(here_.get())) {
      case FrameReader::State::Waiting:
        return "waiting";
      case FrameReader::State::Closed:
        return "closed";
      case FrameReader::State::Malformed:
        return reader_.reason();
      case FrameReader::State::Complete:
        break;
    }
    const Frame frame = reader_.take();
    struct stat info{};
    if (frame.fd.is_open()) ::fstat(frame.fd.get(), &info);
    return std::to_string(frame.header.type) + ":" + std::to_string(frame.payload.size()) + ":" +
           std::to_string(info.st_size);
  }

  Fd here_;
  Fd there_;
  FrameReader reader_;
};

TEST_F(FrameReaderTest, FramesThatComeTogetherAreTakenOneByOne) {
  send(1, 0);
  send(2, 100);
  send(3, 20'000);
  EXPECT_EQ(next(), "1:0:0");
  EXPECT_EQ(next(), "2:100:0");
  EXPECT_EQ(next(), "3:20000:0");
  EXPECT_EQ(next(), "waiting");
}

TEST_F(FrameReaderTest, ADescriptorStaysWithItsFrame) {
  send(1, 0);
  send(2, 8, 11);
  send(3, 0);
  send(4, 30'000, 12);
  send(5, 8, 13);
  send(6, 8);
  EXPECT_EQ(next(), "1:0:0");
  EXPECT_EQ(next(), "2:8:11");
  EXPECT_EQ(next(), "3:0:0");
  EXPECT_EQ(next(), "4:30000:12");
  EXPECT_EQ(next(), "5:8:13");
  EXPECT_EQ(next(), "6:8:0");
  there_.reset();
  EXPECT_EQ(next(), "closed");
}

TEST_F(FrameReaderTest, WhatIsNoFrameIsSaid) {
  ASSERT_EQ(::send(there_.get(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 28, 0), 28);
  EXPECT_EQ(next(), "not a cuco message");
}

}  // namespace
}  // namespace cuco::wire
