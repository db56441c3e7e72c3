// SPDX-License-Identifier: Apache-2.0
// What the host tells the courier, a kernel, and what it learns of the GPU's clock.
#include <array>

#include <gtest/gtest.h>

#include "loopback/device/parcel.h"
#include "loopback/device_clock.h"

namespace cuco::loopback {
namespace {

using Words = std::array<std::uint64_t, Parcel::kWords>;

Words written(const DecodedParcel& parcel, std::uint64_t number) {
  Words words{};
  write_parcel(words.data(), parcel, number);
  return words;
}

TEST(Parcel, TheCourierReadsWhatTheHostWrote) {
  DecodedParcel sent;
  sent.job = {.source = 1,
              .destination = 2,
              .bytes = 3,
              .value = 4,
              .signal = 5,
              .signal_add = 6,
              .counter = 7,
              .credit = 8,
              .piece = 9,
              .credit_value = 10};
  sent.is_alone = true;
  sent.due = 11;
  sent.pieces = 12;
  Parcel parcel;
  const Words words = written(sent, 42);
  std::copy(words.begin(), words.end(), parcel.word);
  const DecodedParcel got = decode(parcel);
  EXPECT_EQ(got.job.source, 1U);
  EXPECT_EQ(got.job.destination, 2U);
  EXPECT_EQ(got.job.bytes, 3U);
  EXPECT_EQ(got.job.value, 4U);
  EXPECT_EQ(got.job.signal, 5U);
  EXPECT_EQ(got.job.signal_add, 6U);
  EXPECT_EQ(got.job.counter, 7U);
  EXPECT_EQ(got.job.credit, 8U);
  EXPECT_EQ(got.job.piece, 9U);
  EXPECT_EQ(got.job.credit_value, 10U);
  EXPECT_TRUE(got.is_alone);
  EXPECT_EQ(got.due, 11U);
  EXPECT_EQ(got.pieces, 12U);
}

TEST(Parcel, EveryThirtyTwoBytesEndWithItsNumber) {
  const Words words = written({}, 42);
  for (std::size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(words[i], i % Parcel::kWordsWithNumber == 3 ? 42U : 0U) << i;
}

TEST(DeviceClock, KnowsNothingBeforeItHasSeenTheGpu) {
  DeviceClock clock;
  EXPECT_EQ(clock.device_at(1'000'000), 0U);
  EXPECT_FALSE(clock.host_at(7));
}

TEST(DeviceClock, BelievesTheSightingWithTheLeastDelay) {
  DeviceClock clock;
  // The GPU's clock is 1,000,000 behind; sightings come 900, 600 and 5,000 later.
  clock.saw(2'000'900, 1'000'000);
  clock.saw(2'010'600, 1'010'000);
  clock.saw(2'025'000, 1'020'000);
  EXPECT_EQ(clock.device_at(2'030'600), 1'030'000U);
  EXPECT_EQ(clock.host_at(1'030'000), 2'030'600);
}

TEST(DeviceClock, FollowsClocksThatDrift) {
  DeviceClock clock;
  // The GPU's clock loses 10 us in a second; what was seen a second ago is forgotten.
  for (std::int64_t now = 1'000'000'000; now < 3'000'000'000; now += 1'000'000)
    clock.saw(now, static_cast<std::uint64_t>(now - 500'000'000 - now / 100'000));
  const auto seen = clock.host_at(clock.device_at(3'000'000'000));
  EXPECT_EQ(seen, 3'000'000'000);
  const auto device = static_cast<std::int64_t>(clock.device_at(3'000'000'000));
  EXPECT_NEAR(static_cast<double>(device), 2'499'970'000, 1'500);
}

TEST(DeviceClock, ForgetsWhatAQuietGpuShowed) {
  DeviceClock clock;
  clock.saw(1000, 500);
  clock.forget();
  EXPECT_EQ(clock.device_at(2000), 0U);
  EXPECT_EQ(clock.host_at(0), std::nullopt);
}

}  // namespace
}  // namespace cuco::loopback
