// SPDX-License-Identifier: Apache-2.0
// Whoever moves bytes is charged for them: every memory instruction, in every memory, with every
// pattern of lanes. What is charged is compared with the bytes that the lanes touch, counted here
// one by one; and no access or lane more ever makes a kernel faster.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "fixture.h"
#include "vgpu/lower/op.h"
#include "vgpu/memory/address_map.h"

namespace cuco::vgpu {
namespace {

using ::testing::HasSubstr;

struct Opcode {
  std::string name;
  std::string text;    ///< %rd4: the lane's address; %r9, %rd9: data.
  unsigned bytes = 4;  ///< Of a lane.
  bool shared = true;  ///< May go to shared memory,
  bool local = true;   ///< to local memory.
};

const std::vector<Opcode>& opcodes() {
  static const std::vector<Opcode> kAll{
      {"ld.u8", "ld.u8 %r9, [%rd4];", 1},
      {"ld.u32", "ld.u32 %r9, [%rd4];", 4},
      {"ld.v2.u64", "ld.v2.u64 {%rd9, %rd10}, [%rd4];", 16},
      {"ld.v4.u32", "ld.v4.u32 {%r9, %r10, %r11, %r12}, [%rd4];", 16},
      {"ld.volatile", "ld.volatile.u32 %r9, [%rd4];", 4},
      {"ld.acquire", "ld.acquire.sys.u64 %rd9, [%rd4];", 8},
      {"st.u8", "st.u8 [%rd4], %r1;", 1},
      {"st.u32", "st.u32 [%rd4], %r1;", 4},
      {"st.v4.u32", "st.v4.u32 [%rd4], {%r1, %r1, %r1, %r1};", 16},
      {"st.release", "st.release.sys.u32 [%rd4], %r1;", 4},
      {"atom.add", "atom.add.u32 %r9, [%rd4], %r1;", 4, true, false},
      {"atom.cas", "atom.cas.b64 %rd9, [%rd4], %rd9, %rd1;", 8, true, false},
      {"atom.add.f32", "atom.add.f32 %f1, [%rd4], %f2;", 4, true, false},
      {"red.add", "red.add.u32 [%rd4], %r1;", 4, true, false},
      {"cp.async", "cp.async.cg.shared.global [%r20], [%rd4], 16; cp.async.wait_all;", 16, false,
       false},
      {"cp.async.bulk to shared",
       "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r21], 16;"
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd4], 16, "
       "[%r21];",
       16, false, false},
      {"cp.async.bulk to global",
       "cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r20], 16;"
       "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
       16, false, false},
      {"cp.async.bulk that reduces",
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd4], [%r20], 16;"
       "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
       16, false, false},
  };
  return kAll;
}

/// One warp; lane l does the instruction `times` over at table[l] if bit l of the mask is set.
std::string kernel(const Opcode& opcode, unsigned times) {
  std::string body;
  for (unsigned i = 0; i < times; ++i)
    body += opcode.text;
  return fmt::format(R"(
.visible .entry k(.param .u64 table, .param .u32 mask)
{{
  .reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .f32 %f<4>; .reg .pred %p<4>;
  .local .align 16 .b8 own[1024]; .shared .align 16 .b8 data[1024]; .shared .align 8 .b64 bar;
  ld.param.u64 %rd1, [table]; ld.param.u32 %r2, [mask];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2;
  ld.global.u64 %rd4, [%rd3]; st.local.u32 [own], %r1;
  mov.u32 %r20, data; shl.b32 %r3, %r1, 4; add.u32 %r20, %r20, %r3; mov.u32 %r21, bar;
  setp.eq.u32 %p2, %r1, 0; mov.u32 %r5, 1; @%p2 mbarrier.init.shared::cta.b64 [%r21], %r5;
  mov.b32 %f2, %r1; mov.u64 %rd9, 0;
  shr.u32 %r4, %r2, %r1; and.b32 %r4, %r4, 1; setp.eq.u32 %p1, %r4, 1;
  @!%p1 bra END;
  {}
END: ret;
}})",
                     body);
}

using Table = std::array<Address, kLanes>;
constexpr VTime kLatency = 800'000;

/// A machine of three GPUs; the kernel runs on the first.
struct Machine {
  explicit Machine(const Opcode& opcode, unsigned times = 1) {
    Environment environment;
    environment.remote = [this](const RemoteRequest& request) {
      remote += request.bytes * request.owners.size();
      return request.when + kLatency + static_cast<VTime>(request.bytes) * 3;
    };
    gpu = *Harness::load(".version 8.0\n.target sm_90\n.address_size 64\n" + kernel(opcode, times),
                         h200(), std::move(environment), 3);
    for (unsigned device = 0; device < 3; ++device)
      at[device] = *gpu->memory().allocate(device, 1U << 20U, 4096);
    host = *gpu->memory().allocate_host(0, 1U << 20U, 4096);
  }
  GridResult run(const Table& lanes, std::uint32_t mask) {
    remote = 0;
    const Address table = gpu->upload<Address>(lanes);
    const HarnessResult result = cuco::vgpu::run(*gpu, "k", {.block = {32, 1, 1}}, table, mask);
    if (result.grid.trap) ADD_FAILURE() << to_string(*result.grid.trap);
    return result.grid;
  }

  std::unique_ptr<Harness> gpu;
  std::array<Address, 3> at{};
  Address host = 0;
  std::uint64_t remote = 0;
};

/// Where the lanes go.
struct Pattern {
  std::string name;
  bool shared = false;
  bool local = false;
  Address (*of)(const Machine&, unsigned lane);
};

Address in_shared(unsigned lane) {
  return kSharedWindow + lane * 16;
}
Address in_local(unsigned lane) {
  return kLocalWindow + lane % 7 * 16;
}

const std::vector<Pattern>& patterns() {
  using M = const Machine&;
  static const std::vector<Pattern> kAll{
      {"all the same", false, false, [](M m, unsigned) { return m.at[0]; }},
      {"side by side", false, false, [](M m, unsigned l) { return m.at[0] + l * 16; }},
      {"strided", false, false, [](M m, unsigned l) { return m.at[0] + l * 256; }},
      {"scattered", false, false, [](M m, unsigned l) { return m.at[0] + (l * 37 + 5) % 61 * 48; }},
      {"a peer's", false, false, [](M m, unsigned l) { return m.at[1] + l * 16; }},
      {"the host's", false, false, [](M m, unsigned l) { return m.host + l * 64; }},
      {"mixed owners", false, false, [](M m, unsigned l) { return m.at[l % 3] + l * 16; }},
      {"shared", true, false, [](M, unsigned l) { return in_shared(l); }},
      {"shared, one word", true, false, [](M, unsigned) { return in_shared(0); }},
      {"local", false, true, [](M, unsigned l) { return in_local(l); }},
      {"mixed spaces", true, true,
       [](M m, unsigned l) {
         return l % 4 == 0 ? in_shared(l) : l % 4 == 1 ? in_local(l) : m.at[l % 4 - 2] + l * 64;
       }},
      {"a decoy in shared memory", true, false,
       [](M m, unsigned l) { return l == 0 ? in_shared(l) : m.at[1] + l * 128; }},
      {"a decoy in local memory", false, true,
       [](M m, unsigned l) { return l == 0 ? in_local(l) : m.at[1] + l * 128; }},
      {"a decoy in own memory", false, false,
       [](M m, unsigned l) { return l == 0 ? m.at[0] : m.at[2] + l * 128; }},
      {"the last lane is a peer's", false, false,
       [](M m, unsigned l) { return l == 31 ? m.at[1] : m.at[0] + l * 16; }},
  };
  return kAll;
}

/// What the lanes touch, counted byte by byte.
struct Touched {
  std::set<Address> own, remote;                 ///< Sectors.
  std::set<std::pair<Address, unsigned>> local;  ///< Word, and quarter of the warp.
  bool shared = false;

  void add(const Machine& machine, unsigned lane, Address address, unsigned bytes) {
    for (Address a = address; a < address + bytes; ++a) {
      if (is_shared(a)) {
        shared = true;
      } else if (is_local(a)) {
        local.emplace((a - kLocalWindow) / 4, lane / 8);
      } else {
        (machine.gpu->memory().granule(a).owner == 0 ? own : remote).insert(a / 32);
      }
    }
  }
};

constexpr std::array<std::uint32_t, 6> kMasks{0x0, 0x1, 0x8000'0001, 0xFF, 0x5555'5555, kFullMask};

Table table_of(const Machine& machine, const Pattern& pattern) {
  Table table{};
  for (unsigned l = 0; l < kLanes; ++l)
    table[l] = pattern.of(machine, l);
  return table;
}

bool applies(const Opcode& opcode, const Pattern& pattern) {
  return (opcode.shared || !pattern.shared) && (opcode.local || !pattern.local);
}

TEST(Charge, BytesMovedAreBytesCharged) {
  for (const Opcode& opcode : opcodes()) {
    Machine machine(opcode);
    for (const Pattern& pattern : patterns()) {
      if (!applies(opcode, pattern)) continue;
      const Table table = table_of(machine, pattern);
      const Counters nothing = machine.run(table, 0).counters;
      for (const std::uint32_t mask : kMasks) {
        SCOPED_TRACE(fmt::format("{}, {}, lanes {:#x}", opcode.name, pattern.name, mask));
        Touched touched;
        for (unsigned l = 0; l < kLanes; ++l) {
          if ((mask >> l & 1U) != 0) touched.add(machine, l, table[l], opcode.bytes);
        }
        const Counters all = machine.run(table, mask).counters;
        // A copy of each lane is a request of its own.
        if (opcode.name.starts_with("cp.async.bulk")) {
          const auto lanes = static_cast<std::uint64_t>(std::popcount(mask));
          EXPECT_GE(all.sectors - nothing.sectors, touched.own.size() + touched.remote.size());
          EXPECT_LE(all.sectors - nothing.sectors, lanes);
          EXPECT_GE(all.remote_bytes, 32 * touched.remote.size());
          continue;
        }
        EXPECT_EQ(all.sectors - nothing.sectors,
                  touched.own.size() + touched.remote.size() + touched.local.size());
        EXPECT_EQ(all.local_sectors - nothing.local_sectors, touched.local.size());
        EXPECT_EQ(all.remote_bytes, 32 * touched.remote.size());
        EXPECT_EQ(machine.remote, all.remote_bytes);
        EXPECT_EQ(all.shared_cycles > nothing.shared_cycles, touched.shared);
      }
    }
  }
}

VTime time_of(const Opcode& opcode, const Pattern& pattern, std::uint32_t mask, unsigned times) {
  Machine machine(opcode, times);
  const GridResult result = machine.run(table_of(machine, pattern), mask);
  return result.finished - result.started;
}

TEST(Charge, NoLaneMoreMakesItFaster) {
  constexpr std::array<std::uint32_t, 4> kGrowing{0x0, 0x1, 0xFFFF, kFullMask};
  constexpr VTime kBranch = 1 * kNanosecond;
  for (const Opcode& opcode : opcodes()) {
    for (const Pattern& pattern : patterns()) {
      if (!applies(opcode, pattern)) continue;
      VTime before = 0;
      for (const std::uint32_t mask : kGrowing) {
        const VTime now = time_of(opcode, pattern, mask, 1);
        // Half a warp at a branch pays for the branch twice.
        EXPECT_GE(now + kBranch, before)
            << opcode.name << ", " << pattern.name << ", lanes " << mask;
        before = now;
      }
    }
  }
}

TEST(Charge, NoAccessMoreMakesItFaster) {
  for (const Opcode& opcode : opcodes()) {
    for (const Pattern& pattern : patterns()) {
      if (!applies(opcode, pattern)) continue;
      EXPECT_GE(time_of(opcode, pattern, kFullMask, 3), time_of(opcode, pattern, kFullMask, 2))
          << opcode.name << ", " << pattern.name;
    }
  }
}

TEST(Charge, ADecoyLaneDoesNotHideTheOthersLink) {
  const Opcode store{"st.v4.u32", "st.v4.u32 [%rd4], {%r1, %r1, %r1, %r1};", 16};
  const auto with = [&](const char* name) {
    const auto found =
        std::ranges::find_if(patterns(), [&](const Pattern& p) { return p.name == name; });
    return time_of(store, *found, kFullMask, 8);
  };
  EXPECT_GT(with("a decoy in shared memory"), kLatency);
  EXPECT_GT(with("a decoy in local memory"), kLatency);
  EXPECT_GT(with("a decoy in own memory"), kLatency);
  EXPECT_LT(with("side by side"), kLatency + 2 * kMicrosecond);
}

TEST(Charge, ACopyIsThereWhenItArrivesNotBefore) {
  // From a peer, over the link, into shared memory: the wait ends at the arrival.
  const Opcode opcode{
      "bulk",
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r21], 16;"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd4], 16, "
      "[%r21];"
      "ld.shared.u32 %r10, [%r20];"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r21], 0; @!%p3 bra WAIT;"
      "ld.shared.u32 %r9, [%r20]; st.global.v2.u32 [%rd1], {%r10, %r9};",
      16, false, false};
  Machine machine(opcode);
  Table table{};
  table[0] = machine.at[1];
  const std::uint32_t value = 77;
  std::memcpy(Memory::at(machine.at[1]), &value, sizeof value);
  const Address out = machine.gpu->upload<Address>(table);
  const HarnessResult result =
      run_ok(*machine.gpu, "k", {.block = {32, 1, 1}}, out, std::uint32_t{1});
  EXPECT_GT(result.grid.finished - result.grid.started, kLatency);
  // What is read before the wait is what was there before.
  EXPECT_EQ(machine.gpu->download<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{0, 77}));
}

TEST(Charge, MultimemPaysForItsLinks) {
  for (const std::string text :
       {"multimem.ld_reduce.relaxed.sys.global.add.u32 %r9, [%rd4];",
        "multimem.st.relaxed.sys.global.u32 [%rd4], %r1;",
        "multimem.red.relaxed.sys.global.add.u32 [%rd4], %r1;", "st.global.u32 [%rd4], %r1;"}) {
    Machine machine({"multimem", text});
    const Address cast =
        *machine.gpu->memory().add_multicast(4096, {machine.at[0], machine.at[1], machine.at[2]});
    Table table{};
    for (unsigned l = 0; l < kLanes; ++l)
      table[l] = cast + l * 4;
    const GridResult result = machine.run(table, kFullMask);
    EXPECT_EQ(result.counters.remote_bytes, 128U) << text;
    EXPECT_EQ(machine.remote, 3 * 128U) << text;  // Each member's.
    EXPECT_GT(result.finished - result.started, kLatency) << text;
  }
}

TEST(Charge, ConstantSpaceEndsWithTheConstants) {
  const auto gpu = load(R"(
.const .align 4 .u32 numbers[4] = {1, 2, 3, 4};
.visible .entry k(.param .u64 at, .param .u64 out)
{
  .reg .b64 %rd<4>; .reg .b32 %r<4>;
  ld.param.u64 %rd1, [at]; ld.param.u64 %rd2, [out];
  ld.const.u32 %r1, [numbers+8]; ld.const.u32 %r2, [%rd1]; add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd2], %r1; ret;
})");
  const Address out = gpu->allocate(4);
  const Address numbers = gpu->program().find_symbol("numbers")->address;
  run_ok(*gpu, "k", {}, numbers + 4, out);
  EXPECT_EQ(gpu->download<std::uint32_t>(out, 1)[0], 5U);
  for (const Address bad : {out, numbers + 16}) {
    const HarnessResult result = run(*gpu, "k", {}, bad, out);
    ASSERT_TRUE(result.grid.trap);
    EXPECT_THAT(to_string(*result.grid.trap), HasSubstr("outside of constant memory"));
  }
}

TEST(Charge, AtomicsOnOneWordComeOneAfterTheOther) {
  const auto time = [](const char* text, unsigned stride) {
    Machine machine({"atomic", text}, 16);
    Table table{};
    for (unsigned l = 0; l < kLanes; ++l)
      table[l] = machine.at[0] + std::uint64_t{l} * stride;
    const GridResult result = machine.run(table, kFullMask);
    return result.finished - result.started;
  };
  constexpr const char* kAdd = "atom.add.u32 %r9, [%rd4], %r1;";
  constexpr const char* kAddFloat = "atom.add.f32 %f1, [%rd4], %f2;";
  EXPECT_GT(time(kAdd, 0), time(kAdd, 4) + 20 * kNanosecond);
  EXPECT_GT(time(kAddFloat, 0), time(kAdd, 0) + 20 * kNanosecond);
}

/// `count` values that live through a loop of `turns`.
std::string many_values(unsigned count) {
  std::string text = fmt::format(R"(
.visible .entry k(.param .u32 turns, .param .u64 out)
{{
  .reg .b64 %rd<4>; .reg .b32 %r<{}>; .reg .pred %p<2>;
  ld.param.u32 %r1, [turns]; ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x;
)",
                                 count + 10);
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("add.u32 %r{}, %r2, {};", i + 10, i);
  text += "\nLOOP:";
  for (unsigned i = 0; i < 160; ++i)
    text += fmt::format("add.u32 %r{}, %r{}, %r{};", i % count + 10, i % count + 10,
                        (i + 7) % count + 10);
  text += "\nsub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOP; mov.u32 %r3, 0;";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("add.u32 %r3, %r3, %r{};", i + 10);
  return text + "st.global.u32 [%rd1], %r3; ret; }";
}

TEST(Charge, ValuesThatDoNotFitIntoRegistersAreSpilled) {
  const auto time = [](unsigned count, unsigned threads) {
    const auto gpu = load(many_values(count));
    const HarnessResult result =
        run_ok(*gpu, "k", {.block = {threads, 1, 1}}, std::uint32_t{20}, gpu->allocate(8));
    return result.grid.finished - result.grid.started;
  };
  // 160 values fit where a thread can have 255 registers, and not where it has 64.
  EXPECT_LT(time(160, 128), time(40, 128) * 3 / 2);
  EXPECT_GT(time(160, 1024), 3 * time(40, 1024));
}

TEST(Charge, StaticSharedMemoryBeyondItsLimitIsRefused) {
  const auto gpu = load(
      ".visible .entry k() { .shared .align 4 .b8 s[49156]; .reg .b32 %r<2>;"
      "ld.shared.u32 %r1, [s]; ret; }");
  const auto result = gpu->run("k", {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), HasSubstr("static shared memory"));
}

}  // namespace
}  // namespace cuco::vgpu
