// SPDX-License-Identifier: Apache-2.0
// What is expected of designs that nobody has built.
#include <gtest/gtest.h>

#include "design/dimensions.h"
#include "search/evolve/jump.h"
#include "search/forecast/design_forecast.h"

namespace cuco::search {
namespace {
using design::Backend;
using design::Directive;
using design::Placement;

Directive made(Backend backend, Placement placement, int issuers) {
  Directive directive{backend, placement};
  directive.issuer.count = issuers;
  return directive;
}

/// LSA helps by 1.5, producer-fused by 1.3, and more issuers help a little.
double speedup(const Directive& directive) {
  return (directive.backend == Backend::Lsa ? 1.5 : 1.0) *
         (directive.placement == Placement::ProducerFused ? 1.3 : 1.0) *
         (1 + 0.01 * directive.issuer.count);
}

DesignForecast some_verdicts() {
  DesignForecast forecast;
  candidate::Number number = 0;
  for (const Directive& known : {made(Backend::Host, Placement::HostOrdered, 1),
                                 made(Backend::Lsa, Placement::HostOrdered, 1),
                                 made(Backend::Lsa, Placement::HostOrdered, 8),
                                 made(Backend::Host, Placement::ProducerFused, 1),
                                 made(Backend::Gin, Placement::HostOrdered, 1)})
    forecast.learn(known, number++, speedup(known));
  return forecast;
}

TEST(Dimensions, CopyOneValueAndNothingElse) {
  const Directive from = made(Backend::Lsa, Placement::Persistent, 4);
  for (const design::Dimension& dimension : design::dimensions()) {
    Directive to;
    dimension.copy(from, &to);
    EXPECT_EQ(dimension.value(to), dimension.value(from)) << dimension.name;
    for (const design::Dimension& other : design::dimensions()) {
      if (other.name == dimension.name) continue;
      EXPECT_EQ(other.value(to), other.value(Directive{})) << other.name;
    }
  }
}

TEST(Dimensions, QuantitiesResembleTheirNeighbours) {
  const auto& issuers = design::dimensions()[4];
  const auto with = [](int count) { return made(Backend::Host, Placement::HostOrdered, count); };
  EXPECT_EQ(design::likeness(issuers, with(8), with(8)), 1);
  EXPECT_GT(design::likeness(issuers, with(8), with(16)),
            design::likeness(issuers, with(8), with(64)));
  // As the program has it is no quantity.
  EXPECT_EQ(design::likeness(issuers, with(8), with(0)), 0);
}

TEST(DesignForecast, AddsUpWhatDimensionsDo) {
  const DesignForecast forecast = some_verdicts();
  const auto both = forecast.expect(made(Backend::Lsa, Placement::ProducerFused, 1));
  EXPECT_GT(both.speedup, 1.6);
  EXPECT_LT(both.low, 1.5 * 1.3);
  EXPECT_GT(both.high, 1.5 * 1.3);
}

TEST(DesignForecast, IsSureOfWhatItKnowsAndUnsureOfWhatNobodyTried) {
  const DesignForecast forecast = some_verdicts();
  const auto width = [&](const Directive& directive) {
    const auto expected = forecast.expect(directive);
    return expected.high / expected.low;
  };
  const Directive known = made(Backend::Lsa, Placement::HostOrdered, 1);
  EXPECT_NEAR(forecast.expect(known).speedup, speedup(known), 0.1);
  EXPECT_LT(width(known), width(made(Backend::Multimem, Placement::Persistent, 64)));
}

TEST(DesignForecast, DoubtsWhatFailedNearby) {
  DesignForecast forecast = some_verdicts();
  const Directive wanted = made(Backend::Gin, Placement::ProducerFused, 1);
  const double before = forecast.expect(wanted).works;
  const double promise = forecast.promise(wanted, 1.5);
  forecast.learn(made(Backend::Gin, Placement::ProducerFused, 2), 9, 0);
  EXPECT_LT(forecast.expect(wanted).works, before);
  EXPECT_LT(forecast.promise(wanted, 1.5), promise);
}

TEST(DesignForecast, LearnsHowFarAFailureReaches) {
  // All of GIN fails: one more of it will, and nothing else is doubted for it.
  DesignForecast by_kind;
  // Every second one fails, whatever it is.
  DesignForecast at_random;
  candidate::Number number = 1;
  for (const int issuers : {1, 2, 4, 8, 16, 32}) {
    for (const Backend backend : {Backend::Lsa, Backend::Gin, Backend::Multimem}) {
      const Directive directive = made(backend, Placement::HostOrdered, issuers);
      by_kind.learn(directive, number, backend == Backend::Gin ? 0 : 1.2);
      at_random.learn(directive, number, number % 2 == 0 ? 0 : 1.2);
      ++number;
    }
  }
  const auto works = [](const DesignForecast& forecast, Backend backend) {
    return forecast.expect(made(backend, Placement::HostOrdered, 64)).works;
  };
  EXPECT_LT(works(by_kind, Backend::Gin), 0.3);
  EXPECT_GT(works(by_kind, Backend::Lsa), 0.8);
  EXPECT_NEAR(works(at_random, Backend::Gin), 0.5, 0.1);
  EXPECT_NEAR(works(at_random, Backend::Lsa), 0.5, 0.1);
}

TEST(DesignForecast, StartsFromWhatEarlierRunsSay) {
  const DesignForecast forecast(
      [](const Directive& directive) { return directive.backend == Backend::Gin ? 2.0 : 1.0; });
  EXPECT_NEAR(forecast.expect(made(Backend::Gin, Placement::HostOrdered, 1)).speedup, 2, 1e-6);
  EXPECT_NEAR(forecast.expect(made(Backend::Lsa, Placement::HostOrdered, 1)).speedup, 1, 1e-6);
}

TEST(Jump, GoesWhereWhatHelpedMeets) {
  const DesignForecast forecast = some_verdicts();
  const auto jump = best_jump(forecast, {}, {});
  ASSERT_TRUE(jump);
  EXPECT_EQ(jump->directive.backend, Backend::Lsa);
  EXPECT_EQ(jump->directive.placement, Placement::ProducerFused);
  // From what is most like it.
  EXPECT_TRUE(jump->parent == 1 || jump->parent == 2) << jump->parent;
}

TEST(Jump, DoesNotGoWhereItWasOrMayNot) {
  const DesignForecast forecast = some_verdicts();
  const auto first = best_jump(forecast, {}, {});
  ASSERT_TRUE(first);
  const auto second = best_jump(forecast, {first->directive}, {});
  ASSERT_TRUE(second);
  EXPECT_NE(second->directive, first->directive);
  const auto none = best_jump(forecast, {}, [](const Directive&) { return false; });
  EXPECT_FALSE(none);
  EXPECT_FALSE(best_jump(DesignForecast(), {}, {}));
}

}  // namespace
}  // namespace cuco::search
