// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/sse.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/protocol/event_frames.h"

namespace cuco::llm {
namespace {

std::vector<std::string> events_of(std::string_view stream, std::size_t piece) {
  std::vector<std::string> events;
  SseParser parser([&](std::string_view event, std::string_view data) {
    events.push_back(event.empty() ? std::string(data) : fmt::format("{}={}", event, data));
    return Result<void>();
  });
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    EXPECT_TRUE(parser.feed(stream.substr(at, piece)));
  }
  EXPECT_TRUE(parser.finish());
  return events;
}

TEST(Sse, GivesNameAndDataOfEachEventHoweverItIsCut) {
  const std::string stream =
      ": hello\nevent: x\ndata: one\n\ndata:two\r\ndata: more\r\n\r\nid: 3\n\rdata: three";
  for (std::size_t piece = 1; piece < stream.size(); ++piece) {
    EXPECT_THAT(events_of(stream, piece), testing::ElementsAre("x=one", "two\nmore", "three"));
  }
}

TEST(Sse, StopsWhenTheSinkDoes) {
  SseParser parser([](std::string_view, std::string_view) -> Result<void> {
    return Error{ErrorKind::Protocol, "enough"};
  });
  EXPECT_EQ(parser.feed("data: x\n\n").error().message(), "enough");
}

std::string number(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i)
    text += static_cast<char>(value >> (8 * i) & 0xFFU);
  return text;
}

std::string header(const std::string& name, const std::string& value) {
  return number(static_cast<std::uint32_t>(name.size()), 1) + name + number(7, 1) +
         number(static_cast<std::uint32_t>(value.size()), 2) + value;
}

std::string frame(const std::string& headers, const std::string& payload) {
  std::string text = number(static_cast<std::uint32_t>(16 + headers.size() + payload.size()), 4) +
                     number(static_cast<std::uint32_t>(headers.size()), 4);
  text += number(crc32(text), 4) + headers + payload;
  return text + number(crc32(text), 4);
}

Result<void> feed(const std::string& bytes, std::size_t piece, std::vector<std::string>& events) {
  EventFrames frames([&](std::string_view name, std::string_view payload) {
    events.push_back(fmt::format("{}={}", name, payload));
    return Result<void>();
  });
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    CUCO_TRY(frames.feed(std::string_view(bytes).substr(at, piece)));
  return {};
}

TEST(EventFrames, HaveTheChecksumOfZlib) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U);
}

TEST(EventFrames, GiveNameAndPayloadHoweverTheyAreCut) {
  const std::string flag = number(4, 1) + "flag" + number(0, 1);
  const std::string stream =
      frame(header(":message-type", "event") + flag + header(":event-type", "a"), "{}") +
      frame(header(":exception-type", "throttling"), "x") + frame("", "");
  for (std::size_t piece = 1; piece < stream.size(); ++piece) {
    std::vector<std::string> events;
    ASSERT_TRUE(feed(stream, piece, events));
    EXPECT_THAT(events, testing::ElementsAre("a={}", "throttlingException=x", "="));
  }
}

TEST(EventFrames, AreNotBelievedWhenOneBitIsWrong) {
  const std::string good = frame(header(":event-type", "a"), "payload");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    std::vector<std::string> events;
    const auto fed = feed(bad, bad.size(), events);
    EXPECT_FALSE(fed) << at;
    EXPECT_TRUE(events.empty()) << at;
  }
}

}  // namespace
}  // namespace cuco::llm
