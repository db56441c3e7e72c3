// SPDX-License-Identifier: Apache-2.0
// Limits, circuit breaker and fallback chain, on a clock that stands still.
#include <deque>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "llm/guards/breaker.h"
#include "llm/guards/fallback.h"
#include "llm/guards/gate.h"
#include "llm/structured.h"
#include "system/os/system_clock.h"

namespace cuco::llm {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;

/// Gives what it was told, in order; then the last one for ever.
class Scripted final : public Provider {
 public:
  Scripted(std::string model, std::deque<Result<Reply>> replies, int* calls = nullptr)
      : model_(std::move(model)), replies_(std::move(replies)), calls_(calls) {}
  std::string name() const override { return "test"; }
  std::string model() const override { return model_; }
  Result<Reply> complete(const Request& request) override {
    deadline = request.deadline;
    if (calls_ != nullptr) ++*calls_;
    auto reply = replies_.front();
    if (replies_.size() > 1) replies_.pop_front();
    return reply;
  }
  std::chrono::seconds deadline{0};

 private:
  std::string model_;
  std::deque<Result<Reply>> replies_;
  int* calls_;
};

const Error kBusy{ErrorKind::Unavailable, "busy"};
const Error kWrong{ErrorKind::Protocol, "wrong"};
const Reply kFine{.text = "fine"};

TEST(Gates, LetNoMoreInThanTheyMay) {
  ManualClock clock;
  Gate gate(2, 0, clock);
  auto first = gate.enter(1s, {});
  {
    const auto second = gate.enter(1s, {});
    ASSERT_TRUE(first && second);
    const auto third = gate.enter(1s, {});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().kind(), ErrorKind::Unavailable);
    EXPECT_THAT(third.error().message(), HasSubstr("in_flight"));
  }
  EXPECT_TRUE(gate.enter(1s, {}));
}

TEST(Gates, StartNoMoreInAMinuteThanTheyMay) {
  ManualClock clock;
  Gate gate(0, 3, clock);
  for (int i = 0; i < 7; ++i)
    EXPECT_TRUE(gate.enter(10min, {})) << i;
  // Three at once, three a minute later, one two minutes later.
  EXPECT_GE(clock.now(), 2min);
  EXPECT_LT(clock.now(), 2min + 1s);
}

TEST(Gates, HoldUnderManyThreads) {
  system::SystemClock clock;
  Gate gate(3, 0, clock);
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      const auto pass = gate.enter(30s, {});
      ASSERT_TRUE(pass);
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      --inside;
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_LE(most, 3);
}

TEST(Gates, AreSharedByAllWhoAskAServiceAndTakeTheWaitFromTheDeadline) {
  ManualClock clock;
  Gates gates(clock);
  const ServiceFacts service{.name = "x", .in_flight = 0, .per_minute = 1};
  EXPECT_EQ(gates.of(service), gates.of(service));
  auto inner = std::make_unique<Scripted>("m", std::deque<Result<Reply>>{kFine});
  auto* asked = inner.get();
  GatedProvider provider(std::move(inner), gates.of(service), clock);
  ASSERT_TRUE(provider.complete({.deadline = 90s}));
  EXPECT_EQ(asked->deadline, 90s);
  const auto second = provider.complete({.deadline = 90s});
  ASSERT_TRUE(second);
  EXPECT_EQ(asked->deadline, 30s);
  EXPECT_NEAR(second->seconds, 60, 0.2);
}

TEST(Breakers, LeaveAServiceAloneThatFailsAndTryItOnceAfterwards) {
  ManualClock clock;
  int calls = 0;
  BreakerProvider provider(std::make_unique<Scripted>(
                               "m", std::deque<Result<Reply>>{kBusy, kBusy, kBusy, kFine}, &calls),
                           {.failures = 2, .pause = 60s}, clock);
  EXPECT_FALSE(provider.complete({}));
  EXPECT_FALSE(provider.complete({}));
  const auto open = provider.complete({});
  EXPECT_EQ(calls, 2) << "not asked";
  EXPECT_EQ(open.error().kind(), ErrorKind::Unavailable);
  EXPECT_THAT(open.error().message(),
              HasSubstr("failed 2 times in a row and is left alone for 60"));
  EXPECT_THAT(open.error().message(), HasSubstr("busy"));
  clock.sleep(61s);
  EXPECT_FALSE(provider.complete({})) << "the probe fails";
  EXPECT_FALSE(provider.complete({}));
  EXPECT_EQ(calls, 3) << "open again";
  clock.sleep(61s);
  EXPECT_TRUE(provider.complete({}));
  EXPECT_TRUE(provider.complete({}));
  EXPECT_EQ(calls, 5);
}

TEST(Breakers, WaitWhereThereIsNobodyElseAndNeverPastTheDeadline) {
  ManualClock clock;
  int calls = 0;
  BreakerProvider provider(
      std::make_unique<Scripted>("m", std::deque<Result<Reply>>{kBusy, kFine}, &calls),
      {.failures = 1, .pause = 60s, .waits = true}, clock);
  EXPECT_FALSE(provider.complete({}));
  EXPECT_FALSE(provider.complete({.deadline = 10s}));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(provider.complete({.deadline = 300s}));
  EXPECT_GE(clock.now(), 60s);
}

TEST(Breakers, AreNotOpenedByAnswersThatAreWrong) {
  ManualClock clock;
  BreakerProvider provider(std::make_unique<Scripted>("m", std::deque<Result<Reply>>{kWrong}),
                           {.failures = 1}, clock);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(provider.complete({}).error().message(), "wrong");
}

TEST(Fallbacks, SayWhoAnsweredAndAllThatWentWrong) {
  const auto chain = [](Result<Reply> second) {
    std::vector<std::unique_ptr<Provider>> made;
    made.push_back(std::make_unique<Scripted>("a", std::deque<Result<Reply>>{kBusy}));
    made.push_back(std::make_unique<Scripted>("b", std::deque<Result<Reply>>{std::move(second)}));
    return FallbackProvider(std::move(made));
  };
  const auto reply = chain(kFine).complete({});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->answered_by, "test:b");
  EXPECT_EQ(chain(kFine).model(), "a");
  const auto failed = chain(kWrong).complete({});
  EXPECT_EQ(failed.error().kind(), ErrorKind::Unavailable);
  EXPECT_EQ(failed.error().message(), "busy; then wrong");
}

TEST(Structured, AnswersAreFoundWhereverTheyStand) {
  const auto at = [](std::string_view text) -> std::string {
    const auto json = read_structured(text);
    return json ? to_text(*json) : json.error().message();
  };
  EXPECT_EQ(at(R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(at("Sure!\n```json\n{\"a\": [1, 2,],}\n```\nDone {ok}."), R"({"a":[1,2]})");
  EXPECT_EQ(at("{not json} but {\"a\":\"}{\\\"\"} here"), R"({"a":"}{\""})");
  EXPECT_EQ(at("{ \"a\": 1 // one\n}"), R"({"a":1})");
  EXPECT_EQ(at("no"), "the answer has no JSON object");
  EXPECT_EQ(at("{\"a\":"), "the answer has no JSON object");
  EXPECT_EQ(at(std::string(100'000, '{')), "the answer has no JSON object");
}

TEST(Structured, AnswersOfAnyBytesAreSurvived) {
  Rng rng(5);
  const std::string alphabet = "{}[]\",:a1\\/* \n\xff";
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(40); n > 0; --n)
      text += alphabet[rng.below(alphabet.size())];
    const auto json = read_structured(text);
    EXPECT_TRUE(!json || json->is_object());
  }
}

}  // namespace
}  // namespace cuco::llm
