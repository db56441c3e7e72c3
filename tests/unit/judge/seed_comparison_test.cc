// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/seed_comparison.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuco::judge {
namespace {

using targets::KeptRun;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What a run brings back, as the server logs it.
class Log {
 public:
  explicit Log(std::uint64_t keep = 1U << 20U)
      : folder_(*system::TempFolder::create()),
        log_(*vcluster::CopyLog::create(folder_.path() / "copies", keep)) {}

  template <typename T>
  Log& add(const std::vector<T>& values,
           vcluster::WrittenAs written,
           int device = 0,
           std::uint32_t thread = 1) {
    const std::uint64_t call = log_->next_call();
    log_->add({.copy = {.device = device},
               .call = call,
               .thread = thread,
               .written = written,
               .anywhere = vcluster::kAsFloat32},
              std::as_bytes(std::span(values)));
    return *this;
  }

  [[nodiscard]] KeptRun run(std::string out = {}) const {
    KeptRun kept;
    kept.ending.program.ending = system::Ending::Exited;
    kept.out = std::move(out);
    kept.copy_log = *vcluster::read_copy_log(folder_.path() / "copies");
    kept.copies = vcluster::without_order(kept.copy_log);
    kept.contents = std::make_shared<const vcluster::CopyContents>(
        *vcluster::CopyContents::open(folder_.path() / "copies"));
    return kept;
  }

 private:
  system::TempFolder folder_;
  std::unique_ptr<vcluster::CopyLog> log_;
};

std::vector<std::string> compared(const Log& seed,
                                  const Log& run,
                                  const ComparisonRules& rules = {.ranks = 4}) {
  return *compare_with_seed(seed.run(), run.run(), rules);
}

/// Numbers as a sum in one order has them, and in another.
std::vector<float> numbers(float from, bool other_order = false) {
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) {
    const float value = from + 0.37F * static_cast<float>(i);
    values.push_back(other_order && i % 3 == 0 ? std::nextafter(value, 1e9F) : value);
  }
  return values;
}

constexpr auto kFloat = vcluster::kAsFloat32;
constexpr auto kInteger = vcluster::kAsInteger;

TEST(SeedComparison, AnotherOrderOfAdditionsIsTheSame) {
  EXPECT_THAT(compared(Log().add(numbers(1), kFloat), Log().add(numbers(1, true), 0)), IsEmpty());
}

TEST(SeedComparison, BitByBitItIsNot) {
  EXPECT_THAT(
      compared(Log().add(numbers(1), kFloat), Log().add(numbers(1, true), kFloat), {.exact = true}),
      ElementsAre(HasSubstr("bit by bit, as asked for")));
}

TEST(SeedComparison, ADeclaredTypeIsBelieved) {
  const Log seed = std::move(Log().add(numbers(1), kInteger));
  const Log run = std::move(Log().add(numbers(1, true), kInteger));
  EXPECT_THAT(compared(seed, run), ElementsAre(HasSubstr("integers, as written")));
  ComparisonRules rules{.ranks = 4};
  rules.declared = {{.type = ElementType::Exact}, {.bytes = 400, .type = ElementType::Float32}};
  EXPECT_THAT(compared(seed, run, rules), IsEmpty());
  rules.declared = {{.bytes = 400, .type = ElementType::Exact}, {.type = ElementType::Float32}};
  EXPECT_THAT(compared(seed, run, rules), ElementsAre(HasSubstr("as declared")));
}

TEST(SeedComparison, AReductionOfMoreTermsMayDifferMore) {
  std::vector<float> far = numbers(1);
  for (float& value : far)
    value *= 1 + 1e-4F;
  const Log seed = std::move(Log().add(numbers(1), kFloat));
  const Log run = std::move(Log().add(far, kFloat));
  EXPECT_THAT(compared(seed, run), ElementsAre(HasSubstr("sums of 16384 terms")));
  ComparisonRules rules{.ranks = 4, .declared = {{.reduction = 1e8}}};
  EXPECT_THAT(compared(seed, run, rules), IsEmpty());
}

TEST(SeedComparison, CountersThatAreOffByOneDiffer) {
  EXPECT_THAT(compared(Log().add<int>({1, 2, 3}, kInteger), Log().add<int>({1, 2, 4}, kInteger)),
              ElementsAre(HasSubstr("copy of 12 bytes from device 0: byte 8 is 0x04")));
  // Nor is a large one taken for a number, where a kernel counts.
  EXPECT_THAT(compared(Log().add<int>({1'000'000'000}, kInteger),
                       Log().add<int>({1'000'000'001}, kInteger)),
              ElementsAre(HasSubstr("integers")));
}

TEST(SeedComparison, StaleAndSwappedCopiesDiffer) {
  const Log seed = std::move(Log().add(numbers(1), kFloat).add(numbers(2), kFloat));
  EXPECT_THAT(compared(seed, Log().add(numbers(1), kFloat).add(numbers(1), kFloat)),
              ElementsAre(HasSubstr("copy 2 of 2 of 400 bytes")));
  EXPECT_THAT(compared(seed, Log().add(numbers(2), kFloat).add(numbers(1), kFloat)),
              ElementsAre(HasSubstr("copy 1 of 2"), HasSubstr("copy 2 of 2")));
  EXPECT_THAT(compared(seed, Log().add(numbers(1), kFloat, 1).add(numbers(2), kFloat, 0)),
              ElementsAre(HasSubstr("device 0"), HasSubstr("device 1")));
}

TEST(SeedComparison, MissingAndExtraCopiesDifferButRepeatsDoNot) {
  const Log one = std::move(Log().add(numbers(1), kFloat));
  const Log two = std::move(Log().add(numbers(1), kFloat).add(numbers(2), kFloat));
  EXPECT_THAT(compared(two, one), ElementsAre(HasSubstr("to the host once, the seed 2 times")));
  EXPECT_THAT(compared(one, two), ElementsAre(HasSubstr("to the host 2 times, the seed once")));
  EXPECT_THAT(compared(one, Log().add(numbers(1), kFloat).add(numbers(1), kFloat)), IsEmpty());
  EXPECT_THAT(compared(one, Log().add(std::vector<float>(50, 1), kFloat)),
              ElementsAre(HasSubstr("200 bytes from device 0 to the host once, the seed never"),
                          HasSubstr("400 bytes from device 0 to the host never, the seed once")));
}

TEST(SeedComparison, CopiesOfSeveralThreadsHaveNoOrder) {
  const Log seed = std::move(Log().add(numbers(1), kFloat, 0, 1).add(numbers(2), kFloat, 0, 2));
  EXPECT_THAT(
      compared(seed, Log().add(numbers(2, true), kFloat, 0, 2).add(numbers(1), kFloat, 0, 1)),
      IsEmpty());
  EXPECT_THAT(compared(seed, Log().add(numbers(1), kFloat, 0, 1).add(numbers(3), kFloat, 0, 2)),
              ElementsAre(HasSubstr("nothing like the seed's copy 2 of 2"),
                          HasSubstr("the seed copies nothing like it")));
}

TEST(SeedComparison, BeyondWhatIsKeptDigestsDecide) {
  const Log seed = std::move(Log(100).add(numbers(1), kFloat));
  EXPECT_THAT(compared(seed, Log(100).add(numbers(1), kFloat)), IsEmpty());
  EXPECT_THAT(compared(seed, Log(100).add(numbers(1, true), kFloat)),
              ElementsAre(HasSubstr("more than is kept")));
}

TEST(SeedComparison, PrintedNumbersFollowTheCopies) {
  const Log floats = std::move(Log().add(numbers(1), kFloat));
  const Log integers = std::move(Log().add<int>({1}, kInteger));
  const auto differ = [](const Log& log, const char* a, const char* b) {
    return *compare_with_seed(log.run(a), log.run(b), {.ranks = 4});
  };
  EXPECT_THAT(differ(floats, "rank 0 sum 1.500001\nok\n", "ok\nrank 0 sum 1.500002\n"), IsEmpty());
  EXPECT_THAT(differ(floats, "sum 1.5\n", "sum 2.5\n"),
              ElementsAre("prints \"sum 2.5\" instead of \"sum 1.5\""));
  EXPECT_THAT(differ(floats, "ok\n", "FAILED\n"), ElementsAre(HasSubstr("FAILED")));
  EXPECT_THAT(differ(integers, "mean 1.50\n", "mean 1.51\n"), ElementsAre(HasSubstr("1.51")));
}

TEST(SeedComparison, AnotherEndingDiffers) {
  const KeptRun seed = Log().add(numbers(1), kFloat).run();
  KeptRun run = Log().add(numbers(1), kFloat).run();
  run.ending.program.code = 3;
  EXPECT_THAT(*compare_with_seed(seed, run, {}),
              ElementsAre("exits with 3 (the seed exits with 0)"));
}

TEST(SeedComparison, AnEndingIsToldWithWhatTheProgramComplainsOf) {
  KeptRun seed = Log().add(numbers(1), kFloat).run();
  seed.errors = "using 4 GPUs\n";
  KeptRun run = Log().add(numbers(1), kFloat).run();
  run.errors = "using 4 GPUs\n------\nmain.cu:45 \x1b[31minvalid usage\nmore\n";
  run.ending.program.code = 1;
  EXPECT_THAT(
      *compare_with_seed(seed, run, {}),
      ElementsAre("exits with 1 (the seed exits with 0): main.cu:45 \\u001b[31minvalid usage"));
}

TEST(SeedComparison, SaysHowTheSeedIsCompared) {
  const Log seed = std::move(Log().add(numbers(1), kFloat).add<int>({1}, kInteger));
  EXPECT_EQ(*describe_copies(seed.run(), {.ranks = 4}), "1 exact, 1 fp32");
}

}  // namespace
}  // namespace cuco::judge
