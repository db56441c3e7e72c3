// SPDX-License-Identifier: Apache-2.0
#include "dashboard/admission.h"

#include <gtest/gtest.h>

namespace cuco::dashboard {
namespace {

Caller caller(std::string host) {
  return {.method = "GET", .host = std::move(host)};
}

TEST(Admission, AnswersUnderTheServersOwnNames) {
  const Door door{.port = 8765};
  for (const char* host : {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"})
    EXPECT_EQ(admit(caller(host), door), Admission::Welcome) << host;
  for (const char* host : {"", "evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80",
                           "127.0.0.1.evil.example:8765", "127.0.0.1:8765.evil.example",
                           "localhost.evil.example:8765"})
    EXPECT_EQ(admit(caller(host), door), Admission::WrongHost) << host;
}

TEST(Admission, ChangesNothing) {
  auto asks = caller("localhost:8765");
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get"}) {
    asks.method = method;
    EXPECT_EQ(admit(asks, {.port = 8765}), Admission::WrongMethod) << method;
  }
}

TEST(Admission, LetsItsOwnPagesPostWhereSomethingTakesIt) {
  auto asks = caller("localhost:8765");
  asks.method = "POST";
  asks.origin = "http://localhost:8765";
  EXPECT_EQ(admit(asks, {.port = 8765}), Admission::WrongMethod);
  asks.takes_post = true;
  EXPECT_EQ(admit(asks, {.port = 8765}), Admission::Welcome);
  asks.method = "DELETE";
  EXPECT_EQ(admit(asks, {.port = 8765}), Admission::WrongMethod);
  asks.method = "POST";
  // What names no origin is no page of ours: a program, or a page that hides itself.
  for (const char* origin : {"", "null", "http://evil.example", "http://localhost:8766",
                             "http://localhost:8765.evil.example", "https://localhost:8765"}) {
    asks.origin = origin;
    EXPECT_EQ(admit(asks, {.port = 8765}), Admission::OtherSite) << origin;
  }
  asks.origin = "http://evil.example:8765";
  asks.host = "evil.example:8765";
  EXPECT_EQ(admit(asks, {.port = 8765}), Admission::WrongHost);
}

TEST(Admission, WantsTheCookieOfWhoPosts) {
  const Door door{.address = "0.0.0.0", .port = 8765, .token = "0123456789abcdef"};
  Caller asks{.method = "POST", .host = "box:8765", .origin = "http://box:8765"};
  asks.takes_post = true;
  EXPECT_EQ(admit(asks, door), Admission::NoToken);
  asks.token = door.token;
  EXPECT_EQ(admit(asks, door), Admission::NoToken);
  asks.cookie = "cuco_token=0123456789abcdef";
  EXPECT_EQ(admit(asks, door), Admission::Welcome);
}

TEST(Admission, RefusesWhatOtherPagesAsk) {
  const Door door{.port = 8765};
  auto asks = caller("localhost:8765");
  asks.origin = "http://evil.example";
  EXPECT_EQ(admit(asks, door), Admission::OtherSite);
  asks.origin = "http://localhost:8765";
  EXPECT_EQ(admit(asks, door), Admission::Welcome);
  asks.fetch_site = "cross-site";
  EXPECT_EQ(admit(asks, door), Admission::OtherSite);
  asks.fetch_site = "same-origin";
  EXPECT_EQ(admit(asks, door), Admission::Welcome);
}

TEST(Admission, WantsTheTokenWhereThereIsOne) {
  const Door door{.address = "0.0.0.0", .port = 8765, .token = "0123456789abcdef"};
  auto asks = caller("box.lan:8765");
  EXPECT_EQ(admit(asks, door), Admission::NoToken);
  for (const char* wrong : {"0123456789abcdeg", "0123456789abcde", "0123456789abcdef0"}) {
    asks.token = wrong;
    EXPECT_EQ(admit(asks, door), Admission::NoToken) << wrong;
  }
  asks.token = door.token;
  EXPECT_EQ(admit(asks, door), Admission::NewWithToken);
  asks.token.clear();
  asks.cookie = "other=1; cuco_token=0123456789abcdef";
  EXPECT_EQ(admit(asks, door), Admission::Welcome);
  asks.cookie = "xcuco_token=0123456789abcdef";
  EXPECT_EQ(admit(asks, door), Admission::NoToken);
}

TEST(Admission, KnowsLoopback) {
  for (const char* address : {"127.0.0.1", "127.1.2.3", "localhost", "::1"})
    EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address :
       {"0.0.0.0", "10.0.0.1", "127.evil.example", "127.0.0.1.evil", "::", ""})
    EXPECT_FALSE(is_loopback(address)) << address;
}

}  // namespace
}  // namespace cuco::dashboard
