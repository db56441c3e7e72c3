// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow/liveness.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "ptx/flow/register_access.h"
#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

using ::testing::ElementsAre;

Function parse_body(const std::string& body) {
  const Result<Module> module = parse(
      ".version 9.0\n.target sm_90\n.address_size 64\n.func callee;\n.visible .entry k() {\n"
      ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<4>;\n" +
      body + "\n}\n");
  EXPECT_TRUE(module) << module.error().message();
  return module ? *module->find_function("k") : Function{};
}

std::uint32_t index_of(const Function& function, const std::string& name) {
  for (std::uint32_t i = 0; i < function.registers.size(); ++i) {
    if (function.registers[i].name == name) return i;
  }
  return UINT32_MAX;
}

LiveInterval interval_of(const std::string& body, const std::string& name) {
  const Function function = parse_body(body);
  return live_intervals(function)[index_of(function, name)];
}

bool share(const std::string& body, const std::string& a, const std::string& b) {
  const Function function = parse_body(body);
  const RegisterPlan plan = plan_registers(function);
  return plan.places[index_of(function, a)].slot == plan.places[index_of(function, b)].slot;
}

TEST(RegisterAccess, KnowsSourcesAndDestinations) {
  const auto access_of = [](const std::string& text) {
    const Function function = parse_body(text);
    RegisterAccess access;
    find_access(function, function.instructions[0], access);
    const std::uint32_t first = index_of(function, "%r0");
    for (auto* list : {&access.reads, &access.writes}) {
      for (std::uint32_t& reg : *list)
        reg -= first;  // %r3 becomes 3.
    }
    return access;
  };
  RegisterAccess access = access_of("add.s32 %r1, %r2, %r3;");
  EXPECT_THAT(access.writes, ElementsAre(1U));
  EXPECT_THAT(access.reads, ElementsAre(2U, 3U));
  EXPECT_TRUE(access.kills);
  access = access_of("st.global.v2.u32 [%r1], {%r2, %r3};");
  EXPECT_TRUE(access.writes.empty());
  EXPECT_THAT(access.reads, ElementsAre(1U, 2U, 3U));
  access = access_of("ld.global.v2.u32 {%r2, %r3}, [%r1+4];");
  EXPECT_THAT(access.writes, ElementsAre(2U, 3U));
  EXPECT_THAT(access.reads, ElementsAre(1U));
  access = access_of("mbarrier.arrive.shared.b64 _, [%r1], %r2;");
  EXPECT_TRUE(access.writes.empty());
  EXPECT_THAT(access.reads, ElementsAre(1U, 2U));
  access = access_of("bar.red.popc.u32 %r1, %r2, %p1;");
  EXPECT_THAT(access.writes, ElementsAre(1U));
  access = access_of("bar.sync %r1, %r2;");
  EXPECT_THAT(access.reads, ElementsAre(1U, 2U));
  access = access_of("@%p1 mov.u32 %r1, 5;");
  EXPECT_FALSE(access.kills);
  access = access_of("frobnicate.u32 %r1, %r2;");
  EXPECT_FALSE(access.kills);
  EXPECT_THAT(access.writes, ElementsAre(1U, 2U));
  EXPECT_THAT(access.reads, ElementsAre(1U, 2U));
  access = access_of("vadd.s32.s32.s32 %r1.h0, %r2, %r3, %r4;");
  EXPECT_FALSE(access.kills);
}

TEST(Liveness, EndsAtTheLastUse) {
  const LiveInterval r1 = interval_of(
      "mov.u32 %r0, 1; mov.u32 %r1, 2; add.u32 %r2, %r1, 1; st.global.u32 [%rd0], %r2;", "%r1");
  EXPECT_EQ(r1.first, 1U);
  EXPECT_EQ(r1.last, 2U);
}

TEST(Liveness, SpansALoopThatComesBackToAUse) {
  const LiveInterval r1 = interval_of(
      "mov.u32 %r1, 2; L: add.u32 %r2, %r1, 1; mov.u32 %r3, 4; @%p1 bra L; ret;", "%r1");
  EXPECT_EQ(r1.first, 0U);
  EXPECT_EQ(r1.last, 3U);
}

TEST(Liveness, AGuardedWriteDoesNotEndTheOldValue) {
  const std::string body =
      "mov.u32 %r1, 2; mov.u32 %r2, 3; st.global.u32 [%rd0], %r2; @%p1 mov.u32 %r1, 5;"
      "st.global.u32 [%rd0], %r1;";
  EXPECT_EQ(interval_of(body, "%r1").first, 0U);
  EXPECT_FALSE(share(body, "%r1", "%r2"));
}

TEST(Liveness, ValuesStayAcrossCalls) {
  const std::string body =
      "mov.u32 %r1, 2; call callee; mov.u32 %r2, 3; st.global.u32 [%rd0], %r1;";
  EXPECT_FALSE(share(body, "%r1", "%r2"));
}

TEST(Plan, SharesAPlaceAfterDeathButNotWithinAnInstruction) {
  const std::string body =
      "mov.u32 %r1, 1; add.u32 %r2, %r1, 1; add.u32 %r3, %r2, 1; st.global.u32 [%rd0], %r3;";
  EXPECT_FALSE(share(body, "%r1", "%r2"));
  EXPECT_TRUE(share(body, "%r1", "%r3"));
}

TEST(Plan, KeepsClassesApart) {
  const Function function = parse_body("mov.u32 %r1, 1; mov.u64 %rd1, 2; setp.eq.u32 %p1, 1, 2;");
  const RegisterPlan plan = plan_registers(function);
  EXPECT_THAT(plan.slots, ElementsAre(1U, 1U, 1U, 0U));
  EXPECT_EQ(plan.places[index_of(function, "%rd1")].kind, RegisterClass::B64);
}

TEST(Plan, AsynchronousRegistersKeepTheirPlace) {
  const std::string body =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r1,%r2}, %rd1, %rd2, 1, 1, 1, 0, 0;"
      "mov.u32 %r3, 1; st.global.u32 [%rd0], %r3;";
  EXPECT_FALSE(share(body, "%r1", "%r3"));
}

TEST(ControlFlow, FindsBlocksAndTheirSuccessors) {
  //                0: entry       1: then            2: else           3: join
  const Function function =
      parse_body("@%p1 bra ELSE; mov.u32 %r1, 1; bra JOIN; ELSE: mov.u32 %r1, 2; JOIN: ret;");
  const ControlFlow flow = control_flow(function);
  ASSERT_EQ(flow.blocks.size(), 4U);
  EXPECT_THAT(flow.blocks[0].successors, ElementsAre(1U, 2U));
  EXPECT_THAT(flow.blocks[1].successors, ElementsAre(3U));
  EXPECT_TRUE(flow.blocks[3].leaves);
}

TEST(ControlFlow, APathMayReturnEarly) {
  const Function function = parse_body("@%p1 ret; mov.u32 %r1, 1; L: bra L;");
  const ControlFlow flow = control_flow(function);
  ASSERT_EQ(flow.blocks.size(), 3U);
  EXPECT_TRUE(flow.blocks[0].leaves);
}

/// A random body: arithmetic, guards, forward and backward branches, calls.
std::string random_body(Rng& rng) {
  const std::uint64_t count = 5 + rng.below(40);
  std::string body;
  const auto reg = [&] { return "%r" + std::to_string(rng.below(12)); };
  const auto pred = [&] { return "%p" + std::to_string(rng.below(4)); };
  const auto label = [&] { return "L" + std::to_string(rng.below(count)); };
  for (std::uint64_t i = 0; i < count; ++i) {
    body += "L" + std::to_string(i) + ": ";
    if (rng.below(4) == 0) body += "@" + pred() + " ";
    switch (rng.below(8)) {
      case 0:
        body += "bra " + label() + ";\n";
        break;
      case 1:
        body += "st.global.u32 [%rd0], " + reg() + ";\n";
        break;
      case 2:
        body += "setp.eq.u32 " + pred() + ", " + reg() + ", 1;\n";
        break;
      case 3:
        body += "ld.global.v2.u32 {" + reg() + "," + reg() + "}, [" + reg() + "];\n";
        break;
      case 4:
        body += rng.below(3) == 0 ? "ret;\n" : "call callee;\n";
        break;
      default:
        body += "add.u32 " + reg() + ", " + reg() + ", " + reg() + ";\n";
    }
  }
  return body;
}

/// Runs random paths with values that name their writer: whatever a register holds, its place must
/// hold too.
void check_by_running(const Function& function, const RegisterPlan& plan, Rng& rng) {
  using Value = std::optional<std::uint64_t>;
  for (int path = 0; path < 30; ++path) {
    std::vector<Value> registers(function.registers.size());
    std::array<std::vector<Value>, kRegisterClasses> slots;
    for (std::size_t i = 0; i < kRegisterClasses; ++i)
      slots[i].resize(plan.slots[i]);
    const auto slot_of = [&](std::uint32_t reg) -> Value& {
      const RegisterPlan::Place place = plan.places[reg];
      return slots[static_cast<std::size_t>(place.kind)][place.slot];
    };
    RegisterAccess access;
    std::uint64_t clock = 0;
    for (std::size_t i = 0; i < function.instructions.size() && ++clock < 300; ++i) {
      const Instruction& instruction = function.instructions[i];
      find_access(function, instruction, access);
      for (const std::uint32_t reg : access.reads) {
        ASSERT_TRUE(!registers[reg] || slot_of(reg) == registers[reg]) << "at " << i;
      }
      if (instruction.guarded && rng.below(2) == 0) continue;
      std::uint64_t number = 0;
      for (const std::uint32_t reg : access.writes) {
        registers[reg] = slot_of(reg) = clock * 16 + number++;
      }
      // The sources must have survived the writes: an operation may read them once more.
      for (const std::uint32_t reg : access.reads) {
        ASSERT_TRUE(!registers[reg] || slot_of(reg) == registers[reg]) << "overlap at " << i;
      }
      if (instruction.opcode == Opcode::Ret) break;
      if (instruction.opcode == Opcode::Bra) i = instruction.operands[0].index - 1;
    }
  }
}

/// live[i][r]: some path from before instruction i reads r before an unguarded write; by brute
/// force.
std::vector<std::vector<bool>> naive_liveness(const Function& function) {
  const std::size_t n = function.instructions.size();
  std::vector<std::vector<bool>> live(n + 1, std::vector<bool>(function.registers.size(), false));
  RegisterAccess access;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = n; i-- > 0;) {
      const Instruction& instruction = function.instructions[i];
      find_access(function, instruction, access);
      const bool falls = instruction.guarded ||
                         (instruction.opcode != Opcode::Bra && instruction.opcode != Opcode::Ret);
      std::vector<bool> now(function.registers.size(), false);
      const auto join = [&](const std::vector<bool>& other) {
        for (std::size_t r = 0; r < now.size(); ++r)
          now[r] = now[r] || other[r];
      };
      if (falls) join(live[i + 1]);
      if (instruction.opcode == Opcode::Bra) join(live[instruction.operands[0].index]);
      if (access.kills) {
        for (const std::uint32_t reg : access.writes)
          now[reg] = false;
      }
      for (const std::uint32_t reg : access.reads)
        now[reg] = true;
      changed |= now != live[i];
      live[i] = now;
    }
  }
  return live;
}

void check_interference(const Function& function, const RegisterPlan& plan) {
  const auto live = naive_liveness(function);
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    for (std::uint32_t a = 0; a < function.registers.size(); ++a) {
      for (std::uint32_t b = a + 1; b < function.registers.size(); ++b) {
        if (!live[i][a] || !live[i][b]) continue;
        const auto [pa, pb] = std::pair(plan.places[a], plan.places[b]);
        ASSERT_TRUE(pa.kind != pb.kind || pa.slot != pb.slot)
            << function.registers[a].name << " and " << function.registers[b].name << " at " << i;
      }
    }
  }
}

TEST(PlanProperty, NoTwoLiveValuesShareAPlace) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const std::string body = random_body(rng);
    const Function function = parse_body(body);
    const RegisterPlan plan = plan_registers(function);
    check_interference(function, plan);
    check_by_running(function, plan, rng);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << "\n" << body;
  }
}

TEST(PlanProperty, RealKernelsShrink) {
  const auto path = std::filesystem::path(CUCO_SOURCE_DIR) / "tests/data/ptx/device_api.ptx";
  std::ifstream file(path);
  const Result<Module> module = parse(std::string{std::istreambuf_iterator<char>(file), {}});
  ASSERT_TRUE(module);
  Rng rng(1);
  for (const Function& function : module->functions) {
    const RegisterPlan plan = plan_registers(function);
    check_interference(function, plan);
    std::size_t slots = 0;
    for (const std::uint32_t count : plan.slots)
      slots += count;
    EXPECT_TRUE(function.registers.size() < 100 || slots < function.registers.size() / 2);
  }
}

}  // namespace
}  // namespace cuco::ptx
