// SPDX-License-Identifier: Apache-2.0
// Every case names an outcome and says whether PTX's memory model allows it. Forbidden ones never
// appear; allowed weak ones do. The table of all cases is printed.
#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rig.h"

namespace cuco::vgpu {
namespace {

const hardware::GpuDescription& h200() {
  static const hardware::GpuDescription kGpu =
      *hardware::load_gpu_description("h200", CUCO_SOURCE_DIR);
  return kGpu;
}

enum class Verdict { Forbidden, Allowed };

/// A value that a result (thread, register) or, with thread -1, a variable must have.
struct Value {
  int thread = 0;
  int index = 0;
  std::uint32_t value = 0;
};

struct Case {
  std::string shape;
  std::string variant;
  std::vector<std::string> threads;
  std::vector<Value> weak;
  Verdict verdict = Verdict::Allowed;
};

constexpr Placement kPlacements[] = {Placement::Block, Placement::Gpu, Placement::System};

const char* name_of(Placement placement) {
  return placement == Placement::Block ? "cta" : placement == Placement::Gpu ? "gpu" : "sys";
}

/// The scope that just reaches the other threads; and the widest that does not.
std::string enough(Placement placement) {
  return name_of(placement);
}
std::string too_narrow(Placement placement) {
  return placement == Placement::Gpu ? "cta" : "gpu";
}
std::string membar(const std::string& scope) {
  return scope == "cta" ? "membar.cta;" : scope == "gpu" ? "membar.gl;" : "membar.sys;";
}

std::vector<std::string> narrow_fences(Placement placement) {
  const std::string scope = too_narrow(placement);
  return {"fence.acq_rel." + scope + ";", "fence.sc." + scope + ";", membar(scope)};
}

int count(const std::map<Outcome, int>& outcomes, const Case& test) {
  int hits = 0;
  for (const auto& [outcome, times] : outcomes) {
    const bool all = std::ranges::all_of(test.weak, [&](const Value& want) {
      const std::size_t at = want.thread < 0
                                 ? test.threads.size() * 4 + static_cast<std::size_t>(want.index)
                                 : static_cast<std::size_t>(want.thread * 4 + want.index);
      return outcome[at] == want.value;
    });
    if (all) hits += times;
  }
  return hits;
}

void check(Placement placement, const std::vector<Case>& cases, unsigned group = 1) {
  constexpr int kTimes = 300;
  for (const Case& test : cases) {
    LitmusRig rig(h200(), {test.shape + " " + test.variant, placement, test.threads, group});
    int hits = 0;
    for (std::uint64_t seed = 1; seed <= 2; ++seed)
      hits += count(rig.run(kTimes / 2, seed * 0x9E37), test);
    fmt::print("{:<6} {:<4} {:<46} {:<10} {:>4} of {}\n", test.shape, name_of(placement),
               test.variant, test.verdict == Verdict::Forbidden ? "forbidden" : "allowed", hits,
               kTimes);
    if (test.verdict == Verdict::Allowed) {
      EXPECT_GT(hits, 0) << test.shape << " " << test.variant << " " << name_of(placement);
    } else {
      EXPECT_EQ(hits, 0) << test.shape << " " << test.variant << " " << name_of(placement);
    }
  }
}

const std::string kStoreX = "st.relaxed.sys.u32 [%x], %d;";
const std::string kStoreY = "st.relaxed.sys.u32 [%y], %d;";
const std::string kWeakStoreX = "st.u32 [%x], %d;";

std::string load(const char* reg, const char* from) {
  return fmt::format("ld.relaxed.sys.u32 %{}, [%{}];", reg, from);
}

std::vector<Case> message_passing(Placement placement) {
  const std::string s = enough(placement);
  const std::vector<Value> weak = {{1, 0, 1}, {1, 1, 0}};
  const auto with = [&](std::string variant, const std::string& first, const std::string& second,
                        Verdict verdict) {
    return Case{"MP",
                std::move(variant),
                {kStoreX + first + kStoreY, load("r0", "y") + second + load("r1", "x")},
                weak,
                verdict};
  };
  std::vector<Case> cases = {
      with("relaxed, no fence", "", "", Verdict::Allowed),
      with("fence.acq_rel." + s + ", writer only", "fence.acq_rel." + s + ";", "",
           Verdict::Allowed),
      with("fence.acq_rel." + s + ", reader only", "", "fence.acq_rel." + s + ";",
           Verdict::Allowed),
      with("fence.acq_rel." + s, "fence.acq_rel." + s + ";", "fence.acq_rel." + s + ";",
           Verdict::Forbidden),
      with("fence.sc." + s, "fence.sc." + s + ";", "fence.sc." + s + ";", Verdict::Forbidden),
      with("membar of " + s, membar(s), membar(s), Verdict::Forbidden),
      {"MP",
       "weak data, release/acquire." + s,
       {kWeakStoreX + "st.release." + s + ".u32 [%y], %d;",
        "ld.acquire." + s + ".u32 %r0, [%y]; ld.u32 %r1, [%x];"},
       weak,
       Verdict::Forbidden},
      {"MP",
       "weak data, atom.release/acquire." + s,
       {kWeakStoreX + "atom.release." + s + ".add.u32 %r3, [%y], %d;",
        "atom.acquire." + s + ".or.b32 %r0, [%y], 0; ld.u32 %r1, [%x];"},
       weak,
       Verdict::Forbidden},
      {"MP",
       "weak data, relaxed flag",
       {kWeakStoreX + kStoreY, load("r0", "y") + "ld.u32 %r1, [%x];"},
       weak,
       Verdict::Allowed},
      {"MP",
       "weak flag, fences",
       {kStoreX + "fence.acq_rel.sys; st.u32 [%y], %d;",
        "ld.u32 %r0, [%y]; fence.acq_rel.sys;" + load("r1", "x")},
       weak,
       Verdict::Allowed},
      // Whatever leaves memory as it is is a load, though an atomic one.
      {"MP",
       "relaxed, data read by atom.or of 0",
       {kStoreX + kStoreY, load("r0", "y") + "atom.relaxed.sys.or.b32 %r1, [%x], 0;"},
       weak,
       Verdict::Allowed},
      {"MP",
       "relaxed, data read by a CAS that fails",
       {kStoreX + kStoreY, load("r0", "y") + "atom.relaxed.sys.cas.b32 %r1, [%x], 7, 9;"},
       weak,
       Verdict::Allowed},
      {"MP",
       "release/acquire." + s + ", data read by atom.or of 0",
       {kStoreX + "st.release." + s + ".u32 [%y], %d;",
        "ld.acquire." + s + ".u32 %r0, [%y]; atom.relaxed.sys.or.b32 %r1, [%x], 0;"},
       weak,
       Verdict::Forbidden},
      {"MP",
       "release, chain of atomics, acquire",
       {kWeakStoreX + "st.release." + s + ".u32 [%y], %d;",
        "atom.relaxed." + s + ".add.u32 %r3, [%y], 1;",
        "ld.acquire." + s + ".u32 %r0, [%y]; ld.u32 %r1, [%x];"},
       {{1, 3, 1}, {2, 0, 2}, {2, 1, 0}},
       Verdict::Forbidden},
  };
  if (placement != Placement::Block) {
    const std::string n = too_narrow(placement);
    for (const std::string& narrow : narrow_fences(placement))
      cases.push_back(with(narrow + " too narrow", narrow, narrow, Verdict::Allowed));
    cases.push_back(with("writer's fence too narrow", "fence.acq_rel." + n + ";",
                         "fence.acq_rel.sys;", Verdict::Allowed));
    cases.push_back({"MP",
                     "release/acquire." + n + ": too narrow",
                     {kWeakStoreX + "st.release." + n + ".u32 [%y], %d;",
                      "ld.acquire." + n + ".u32 %r0, [%y]; ld.u32 %r1, [%x];"},
                     weak,
                     Verdict::Allowed});
  } else {
    cases.push_back({"MP",
                     "bar.sync",
                     {kWeakStoreX + "bar.warp.sync 1; barrier.sync 0;",
                      "barrier.sync 0; mov.u32 %r0, 1; ld.u32 %r1, [%x];"},
                     weak,
                     Verdict::Forbidden});
  }
  return cases;
}

std::vector<Case> store_buffering(Placement placement) {
  const std::string s = enough(placement);
  const auto with = [&](std::string variant, const std::string& first, const std::string& second,
                        Verdict verdict) {
    return Case{"SB",
                std::move(variant),
                {kStoreX + first + load("r0", "y"), kStoreY + second + load("r0", "x")},
                {{0, 0, 0}, {1, 0, 0}},
                verdict};
  };
  const std::string sc = "fence.sc." + s + ";";
  std::vector<Case> cases = {
      with("relaxed, no fence", "", "", Verdict::Allowed),
      with("fence.acq_rel." + s, "fence.acq_rel." + s + ";", "fence.acq_rel." + s + ";",
           Verdict::Allowed),
      with("fence.sc." + s + " on one side", sc, "", Verdict::Allowed),
      with("fence.sc." + s, sc, sc, Verdict::Forbidden),
      with("membar of " + s, membar(s), membar(s), Verdict::Forbidden),
      {"SB",
       "release stores, acquire loads",
       {"st.release.sys.u32 [%x], %d; ld.acquire.sys.u32 %r0, [%y];",
        "st.release.sys.u32 [%y], %d; ld.acquire.sys.u32 %r0, [%x];"},
       {{0, 0, 0}, {1, 0, 0}},
       Verdict::Allowed},
  };
  if (placement != Placement::Block) {
    for (const std::string& narrow : narrow_fences(placement))
      cases.push_back(with(narrow + " too narrow", narrow, narrow, Verdict::Allowed));
  }
  return cases;
}

std::vector<Case> load_buffering(Placement placement) {
  const std::string s = enough(placement);
  const auto with = [&](std::string variant, const std::string& first, const std::string& second,
                        Verdict verdict) {
    return Case{"LB",
                std::move(variant),
                {load("r0", "x") + first + kStoreY, load("r0", "y") + second + kStoreX},
                {{0, 0, 1}, {1, 0, 1}},
                verdict};
  };
  const std::string fence = "fence.acq_rel." + s + ";";
  std::vector<Case> cases = {
      with("relaxed, no fence", "", "", Verdict::Allowed),
      with(fence + " on one side", fence, "", Verdict::Allowed),
      with(fence, fence, fence, Verdict::Forbidden),
      with("fence.sc." + s, "fence.sc." + s + ";", "fence.sc." + s + ";", Verdict::Forbidden),
      with("membar of " + s, membar(s), membar(s), Verdict::Forbidden),
      {"LB",
       "acquire loads, release stores",
       {"ld.acquire." + s + ".u32 %r0, [%x]; st.release." + s + ".u32 [%y], %d;",
        "ld.acquire." + s + ".u32 %r0, [%y]; st.release." + s + ".u32 [%x], %d;"},
       {{0, 0, 1}, {1, 0, 1}},
       Verdict::Forbidden},
      {"LB",
       "values depend on what was read",
       {load("r0", "x") + "or.b32 %d, %r0, 0;" + kStoreY,
        load("r0", "y") + "or.b32 %d, %r0, 0;" + kStoreX},
       {{0, 0, 1}, {1, 0, 1}},
       Verdict::Forbidden},
  };
  if (placement != Placement::Block) {
    const std::string n = too_narrow(placement);
    for (const std::string& narrow :
         {"fence.acq_rel." + n + ";", "fence.sc." + n + ";", membar(n)}) {
      cases.push_back(with(narrow + " too narrow", narrow, narrow, Verdict::Allowed));
    }
    cases.push_back({"LB",
                     "acquire/release." + n + ": too narrow",
                     {"ld.acquire." + n + ".u32 %r0, [%x]; st.release." + n + ".u32 [%y], %d;",
                      "ld.acquire." + n + ".u32 %r0, [%y]; st.release." + n + ".u32 [%x], %d;"},
                     {{0, 0, 1}, {1, 0, 1}},
                     Verdict::Allowed});
  }
  return cases;
}

std::vector<Case> independent_reads(Placement placement) {
  const std::string s = enough(placement);
  const std::vector<Value> weak = {{2, 0, 1}, {2, 1, 0}, {3, 0, 1}, {3, 1, 0}};
  const auto with = [&](std::string variant, const std::string& fence, Verdict verdict) {
    return Case{"IRIW",
                std::move(variant),
                {kStoreX, kStoreY, load("r0", "x") + fence + load("r1", "y"),
                 load("r0", "y") + fence + load("r1", "x")},
                weak,
                verdict};
  };
  std::vector<Case> cases = {
      with("relaxed, no fence", "", Verdict::Allowed),
      with("fence.acq_rel." + s, "fence.acq_rel." + s + ";", Verdict::Allowed),
      with("fence.sc." + s, "fence.sc." + s + ";", Verdict::Forbidden),
      with("membar of " + s, membar(s), Verdict::Forbidden),
  };
  if (placement != Placement::Block) {
    for (const std::string& narrow : narrow_fences(placement))
      cases.push_back(with(narrow + " too narrow", narrow, Verdict::Allowed));
  }
  return cases;
}

std::vector<Case> causality(Placement placement) {
  const std::string s = enough(placement);
  const auto with = [&](std::string variant, const std::string& fence, Verdict verdict) {
    return Case{
        "WRC",
        std::move(variant),
        {kStoreX, load("r0", "x") + fence + kStoreY, load("r0", "y") + fence + load("r1", "x")},
        {{1, 0, 1}, {2, 0, 1}, {2, 1, 0}},
        verdict};
  };
  return {with("relaxed, no fence", "", Verdict::Allowed),
          with("fence.acq_rel." + s, "fence.acq_rel." + s + ";", Verdict::Forbidden),
          with("fence.sc." + s, "fence.sc." + s + ";", Verdict::Forbidden)};
}

std::vector<Case> coherence(Placement) {
  const std::string two = "mov.u32 %d, 2; st.relaxed.sys.u32 [%x], %d;";
  return {
      {"CoRR",
       "new, then old",
       {kStoreX, load("r0", "x") + load("r1", "x")},
       {{1, 0, 1}, {1, 1, 0}},
       Verdict::Forbidden},
      {"CoWW",
       "own stores swapped at the end",
       {kStoreX + two, ""},
       {{-1, 0, 1}},
       Verdict::Forbidden},
      {"CoWW",
       "own stores seen swapped",
       {kStoreX + two, load("r0", "x") + load("r1", "x")},
       {{1, 0, 2}, {1, 1, 1}},
       Verdict::Forbidden},
      {"CoWR",
       "own store not seen",
       {kStoreX + load("r0", "x"), ""},
       {{0, 0, 0}},
       Verdict::Forbidden},
      {"CoRW",
       "own later store seen",
       {load("r0", "x") + kStoreX, ""},
       {{0, 0, 1}},
       Verdict::Forbidden},
      {"CoRR",
       "new, then old by atom.or of 0",
       {kStoreX, load("r0", "x") + "atom.relaxed.sys.or.b32 %r1, [%x], 0;"},
       {{1, 0, 1}, {1, 1, 0}},
       Verdict::Forbidden},
      {"CoRR",
       "new by atom.or of 0, then old",
       {kStoreX, "atom.relaxed.sys.or.b32 %r0, [%x], 0;" + load("r1", "x")},
       {{1, 0, 1}, {1, 1, 0}},
       Verdict::Forbidden},
      {"RMW",
       "a look, then two additions, one lost",
       {"atom.relaxed.sys.or.b32 %r1, [%x], 0; atom.relaxed.sys.add.u32 %r0, [%x], 1;",
        "atom.relaxed.sys.add.u32 %r0, [%x], 1;"},
       {{-1, 0, 1}},
       Verdict::Forbidden},
      {"RMW",
       "two additions, one lost",
       {"atom.relaxed.sys.add.u32 %r0, [%x], 1;", "atom.relaxed.sys.add.u32 %r0, [%x], 1;"},
       {{-1, 0, 1}},
       Verdict::Forbidden},
  };
}

std::vector<Case> two_writes_each(Placement placement) {
  const auto with = [&](std::string variant, const std::string& fence, Verdict verdict) {
    return Case{"2+2W",
                std::move(variant),
                {kStoreX + fence + "mov.u32 %d, 2; st.relaxed.sys.u32 [%y], %d;",
                 kStoreY + fence + "mov.u32 %d, 2; st.relaxed.sys.u32 [%x], %d;"},
                {{-1, 0, 1}, {-1, 1, 1}},
                verdict};
  };
  const std::string s = enough(placement);
  return {with("relaxed, no fence", "", Verdict::Allowed),
          with("fence.sc." + s, "fence.sc." + s + ";", Verdict::Forbidden)};
}

/// A fence that is too narrow for one thread and still counts for another: A and B are in one
/// block, C and D in another. A's load may wait behind its fence only as far as C and D are
/// concerned.
std::vector<Case> neighbours_and_others() {
  const auto a = [](const std::string& fence) { return load("r0", "x") + fence + kStoreY; };
  const auto passes_on = [](const char* from, const std::string& fence, const char* to) {
    return load("r0", from) + fence + fmt::format("st.relaxed.sys.u32 [%{}], %d;", to);
  };
  const std::string none;
  std::vector<Case> cases;
  for (const std::string fence : {"fence.acq_rel.cta;", "fence.sc.cta;", "membar.cta;"}) {
    cases.push_back({"LB",
                     fence + " C answers",
                     {a(fence), none, passes_on("y", "membar.gl;", "x"), none},
                     {{0, 0, 1}, {2, 0, 1}},
                     Verdict::Allowed});
    cases.push_back({"LB",
                     fence + " B answers",
                     {a(fence), passes_on("y", fence, "x"), none, none},
                     {{0, 0, 1}, {1, 0, 1}},
                     Verdict::Forbidden});
    cases.push_back(
        {"LB",
         fence + " B tells C, who answers",
         {a(fence), passes_on("y", "membar.gl;", "z"), passes_on("z", "membar.gl;", "x"), none},
         {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}},
         Verdict::Forbidden});
    cases.push_back({"WRC",
                     fence + " A saw what B does not",
                     {a(fence), load("r0", "y") + fence + load("r1", "x"), kStoreX, none},
                     {{0, 0, 1}, {1, 0, 1}, {1, 1, 0}},
                     Verdict::Forbidden});
    cases.push_back({"WRC",
                     fence + " the same, over an atomic of C",
                     {a(fence), load("r0", "y") + fence + load("r1", "x"),
                      "atom.relaxed.gpu.add.u32 %r0, [%y], 1;", kStoreX},
                     {{0, 0, 1}, {1, 0, 2}, {1, 1, 0}},
                     Verdict::Forbidden});
  }
  cases.push_back(
      {"SB",
       "fence.sc.cta; A saw what B does not",
       {load("r0", "x") + "fence.sc.cta;" + "st.relaxed.sys.u32 [%z], %d;" + load("r1", "y"),
        kStoreY + "fence.sc.cta;" + load("r1", "x"), kStoreX, none},
       {{0, 0, 1}, {0, 1, 0}, {1, 1, 0}},
       Verdict::Forbidden});
  cases.push_back({"LB",
                   "release.cta, C answers",
                   {load("r0", "x") + "st.release.cta.u32 [%y], %d;", none,
                    passes_on("y", "membar.gl;", "x"), none},
                   {{0, 0, 1}, {2, 0, 1}},
                   Verdict::Allowed});
  cases.push_back({"LB",
                   "release.cta, B answers",
                   {load("r0", "x") + "st.release.cta.u32 [%y], %d;",
                    passes_on("y", "membar.cta;", "x"), none, none},
                   {{0, 0, 1}, {1, 0, 1}},
                   Verdict::Forbidden});
  return cases;
}

class LitmusTest : public ::testing::TestWithParam<Placement> {};

TEST_P(LitmusTest, MessagePassing) {
  check(GetParam(), message_passing(GetParam()));
}
TEST_P(LitmusTest, StoreBuffering) {
  check(GetParam(), store_buffering(GetParam()));
}
TEST_P(LitmusTest, LoadBuffering) {
  check(GetParam(), load_buffering(GetParam()));
}
TEST_P(LitmusTest, IndependentReadsOfIndependentWrites) {
  check(GetParam(), independent_reads(GetParam()));
}
TEST_P(LitmusTest, Causality) {
  check(GetParam(), causality(GetParam()));
}
TEST_P(LitmusTest, TwoWritesEach) {
  check(GetParam(), two_writes_each(GetParam()));
}
TEST_P(LitmusTest, Coherence) {
  check(GetParam(), coherence(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Scopes,
                         LitmusTest,
                         ::testing::ValuesIn(kPlacements),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(Litmus, AFenceIsThereForNeighboursOnly) {
  check(Placement::Gpu, neighbours_and_others(), 2);
}

TEST(Litmus, TheSameSeedGivesTheSameOutcomes) {
  LitmusRig rig(h200(), {"MP", Placement::Gpu, message_passing(Placement::Gpu)[0].threads, 1});
  const auto first = rig.run(200, 5);
  EXPECT_EQ(first, rig.run(200, 5));
  EXPECT_GT(first.size(), 2U);
}

TEST(Litmus, StoresToPeersCanBeDelayed) {
  // Device 1 stores to device 0's memory, where a thread polls for it.
  const std::string wait = "W: ld.acquire.sys.u32 %r0, [%x]; setp.eq.u32 %q, %r0, 0; @%q bra W;";
  LitmusRig rig(h200(), {"poll", Placement::System, {wait, kStoreX}, 1});
  const VTime plain = rig.run_delayed(0);
  EXPECT_LT(plain, 100 * kMicrosecond);
  const VTime delayed = rig.run_delayed(500 * kMicrosecond);
  EXPECT_GE(delayed - plain, 490 * kMicrosecond);
  EXPECT_LT(delayed - plain, 520 * kMicrosecond);
}

}  // namespace
}  // namespace cuco::vgpu
