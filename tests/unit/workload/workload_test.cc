// SPDX-License-Identifier: Apache-2.0
#include "workload/workload.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/bound.h"
#include "workload/draw.h"
#include "workload/secret.h"

namespace cuco::workload {
namespace {

using testing::HasSubstr;

TEST(Expression, ComputesWithPrecedenceAndChoice) {
  const Variables known{{"m", 3}, {"n", 4}, {"bf16", 1}};
  EXPECT_EQ(*evaluate("2 * m * n", known), 24);
  EXPECT_EQ(*evaluate("m + n * 2 - 1", known), 10);
  EXPECT_EQ(*evaluate("(m + n) * (bf16 ? 2 : 4)", known), 14);
  EXPECT_EQ(*evaluate("-m / 2", known), -1.5);
  EXPECT_EQ(*evaluate("2 * min(m + 2, n)", known), 8);
  EXPECT_EQ(*choose("bf16 ? bf16 : fp32", known), "bf16");
  EXPECT_EQ(*choose("fp32", known), "fp32");
}

TEST(Expression, NamesWhatIsWrong) {
  const Variables known{{"tokens", 3}};
  EXPECT_EQ(evaluate("token * 2", known).error().message(),
            "unknown name: token (did you mean tokens)");
  EXPECT_THAT(evaluate("tokens *", known).error().message(),
              HasSubstr("expected a number or a name"));
  EXPECT_THAT(evaluate("min(tokens)", known).error().message(), HasSubstr("expected ','"));
  EXPECT_THAT(evaluate("(tokens", known).error().message(), HasSubstr("expected ')'"));
  EXPECT_THAT(evaluate("tokens tokens", known).error().message(), HasSubstr("unexpected text"));
  EXPECT_THAT(evaluate("1 / 0", known).error().message(), HasSubstr("value is not finite"));
  EXPECT_FALSE(evaluate(std::string(10'000, '('), known));
}

TEST(Workload, EveryShippedOneLoads) {
  const system::Path root = system::Path(CUCO_SOURCE_DIR) / "workloads";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    const auto workload = load_workload(entry.path());
    ASSERT_TRUE(workload) << workload.error().message();
    EXPECT_EQ(workload->name, entry.path().filename().string());
    EXPECT_FALSE(workload->ranges.empty()) << workload->name;
    ++count;
  }
  EXPECT_GE(count, 6);
}

TEST(Workload, SizesAndDemandsFollowTheShape) {
  const auto workload = load_workload(system::Path(CUCO_SOURCE_DIR) / "workloads/gemm_allgather");
  ASSERT_TRUE(workload) << workload.error().message();
  const Shape shape{.name = "any", .uses = {Use::Check}, .params = {128, 256, 64, 1}};
  const auto outputs = *workload->buffers(workload->outputs, shape);
  EXPECT_EQ(outputs.at(0).type, Element::Bf16);
  EXPECT_EQ(outputs.at(0).bytes(), 4U * 128 * 256 * 2);
  EXPECT_EQ(workload->demand(shape)->flops, 2.0 * 128 * 256 * 64);
}

std::string with(std::string_view from, std::string_view to) {
  std::string text =
      *system::read_file(system::Path(CUCO_SOURCE_DIR) / "workloads/gemm_allgather/workload.toml");
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Workload, MistakesNameFileLineAndKey) {
  const auto message = [](const std::string& text) {
    const auto workload = parse_workload(text, "w.toml");
    return workload ? "no error" : workload.error().message();
  };
  EXPECT_EQ(message(with("topology =", "topolgy =")),
            "w.toml:5: unknown key: topolgy (did you mean topology)");
  EXPECT_THAT(message(with("ranks = 4", "ranks = 0")),
              HasSubstr("w.toml:4: 'ranks' must be an integer"));
  EXPECT_THAT(message(with("\"m * k\"", "\"m * z\"")), HasSubstr("unknown name: z"));
  EXPECT_THAT(message(with("use = [\"time\"]", "use = [\"tme\"]")), HasSubstr("unknown use: tme"));
  EXPECT_THAT(message(with("{ m = 256,", "{ q = 256,")), HasSubstr("params needs an integer 'm'"));
  EXPECT_THAT(message(with("[range]", "[ranges]")),
              HasSubstr("unknown key: ranges (did you mean range)"));
  EXPECT_THAT(message(with("bf16 = [0, 1]\n", "")), HasSubstr("needs 'bf16': bf16 = { from"));
  EXPECT_THAT(message(with("bf16 = [0, 1]", "bf16 = [0]")),
              HasSubstr("shape 'medium bf16' has bf16 = 1, which is outside"));
  EXPECT_THAT(message(with("from = 16, to = 8192, step = 16", "from = 16, to = 8")),
              HasSubstr("'to' is below 'from'"));
  EXPECT_THAT(message(with("m = { from = 1, to = 2048 }", "q = { from = 1, to = 2048 }")),
              HasSubstr("unknown parameter (not in the workload's params): q"));
  EXPECT_THAT(message(with("name = \"gemm", "name = gemm")), HasSubstr("w.toml:2"));
  EXPECT_THAT(message(with("fp32 = { relative = 1e-6, scaled = 5e-7 }", "")),
              HasSubstr("no tolerance for fp32"));
}

TEST(Workload, AllMistakesAreToldAtOnceInOrder) {
  std::string text = with("ranks = 4", "ranks = 0");
  const auto replace = [&](std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("[tolerance]", "[tolerence]");
  replace("elements = \"k * n\"", "elements = \"k * q\"");
  replace("name = \"medium bf16\"\nuse = [\"time\"]", "name = \"medium fp32\"\nuse = [\"tim\"]");
  replace("iterations = 3", "iterations = 0");
  replace("run_seconds = 60", "run_seconds = -1");
  const auto workload = parse_workload(text, "w.toml");
  ASSERT_FALSE(workload);
  const std::string message = workload.error().message();
  const std::vector<std::string> wanted = {"'ranks' must be an integer from 1 to 64",
                                           "'elements' on shape 'medium fp32': unknown name: q",
                                           "unknown key: tolerence (did you mean tolerance)",
                                           "duplicate name 'medium fp32'",
                                           "unknown use: tim (did you mean time)",
                                           "'run_seconds' must be a number",
                                           "'iterations' must be an integer"};
  std::size_t at = 0;
  for (const std::string& line : wanted) {
    const std::size_t found = message.find(line, at);
    EXPECT_NE(found, std::string::npos) << line << "\nin\n" << message;
    if (found != std::string::npos) at = found;
  }
  EXPECT_THAT(message, testing::Not(HasSubstr("needs a [tolerance]")));
}

hardware::GpuDescription h200() {
  const auto root = system::Path(CUCO_SOURCE_DIR);
  return *hardware::load_gpu_description((root / "hardware/h200.toml").string(), {});
}

TEST(Bound, IsTrueForAnyProgram) {
  // What wgmma does on paper, the memory's pins, and fp32 by three products of halves.
  const auto bf16 = peak_of(h200(), fabric::single_node(1), 1, true);
  EXPECT_NEAR(bf16.flops, 1070e12, 5e12);
  EXPECT_NEAR(bf16.hbm_bytes, 4917e9, 5e9);
  EXPECT_NEAR(peak_of(h200(), fabric::single_node(1), 1, false).flops, 1070e12 / 3, 3e12);
}

TEST(Bound, LetsRanksOfSeveralNodesUseBothKindsOfLinks) {
  const auto read = [](const std::string& name) {
    const auto file = system::Path(CUCO_SOURCE_DIR) / "topology" / name;
    return *fabric::parse_topology(*system::read_file(file), name);
  };
  // Alone in its node a GPU has only its NIC; with others it gets from them what crossed once.
  const fabric::Topology alone = read("ib2x1.toml");
  EXPECT_NEAR(peak_of(h200(), alone, 2, true).wire_bytes, alone.nic->gigabytes_per_second * 1e9, 1);
  const fabric::Topology mixed = read("roce2x4.toml");
  EXPECT_NEAR(peak_of(h200(), mixed, 8, true).wire_bytes,
              (mixed.load_store.gigabytes_per_second + mixed.nic->gigabytes_per_second) * 1e9, 1);
  EXPECT_NEAR(peak_of(h200(), mixed, 4, true).wire_bytes,
              mixed.load_store.gigabytes_per_second * 1e9, 1);
}

TEST(Bound, LeavesOutWhatMayStayInTheCache) {
  const auto workload = load_workload(system::Path(CUCO_SOURCE_DIR) / "workloads/silu_and_mul");
  ASSERT_TRUE(workload) << workload.error().message();
  for (const Shape& shape : workload->shapes) {
    const auto bound = bound_of(*workload, shape, h200(), fabric::single_node(1));
    ASSERT_TRUE(bound) << bound.error().message();
    const double all = workload->demand(shape)->hbm_bytes;
    const auto written =
        static_cast<double>((*workload->buffers(workload->outputs, shape))[0].bytes());
    const double kept = std::min(written, static_cast<double>(h200().l2_bytes));
    EXPECT_NEAR(bound->hbm_seconds, (all - kept) / 4917e9, 1e-3 * bound->hbm_seconds);
  }
}

Workload shipped(const std::string& name) {
  auto workload = load_workload(system::Path(CUCO_SOURCE_DIR) / "workloads" / name);
  EXPECT_TRUE(workload) << workload.error().message();
  return *std::move(workload);
}

TEST(Draw, TheSameSecretDrawsTheSameShapes) {
  const Workload workload = shipped("gemm_allgather");
  const auto params = [&](const Secret& secret) {
    std::vector<std::vector<long long>> list;
    const auto drawn = draw_shapes(workload, secret);
    for (const Shape& shape : *drawn)
      list.push_back(shape.params);
    return list;
  };
  EXPECT_EQ(params(Secret::from("a", 1)), params(Secret::from("a", 1)));
  EXPECT_NE(params(Secret::from("a", 1)), params(Secret::from("a", 2)));
  EXPECT_NE(params(Secret::from("a", 1)), params(Secret::from("b", 1)));
}

TEST(Draw, ShapesLieInTheRangesAndAreSmall) {
  for (const char* name :
       {"gemm_allgather", "flash_attention_cp", "moe_dispatch_combine", "kv_transfer",
        "silu_and_mul", "fused_add_rmsnorm", "merge_attn_states"}) {
    const Workload workload = shipped(name);
    double largest = 0;
    for (const Shape* timed : workload.shapes_for(Use::Time))
      largest = std::max(largest, workload.demand(*timed)->hbm_bytes);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      std::map<Use, int> uses;
      const auto drawn = draw_shapes(workload, Secret::from("s", seed));
      for (const Shape& shape : *drawn) {
        ++uses[*shape.uses.begin()];
        ASSERT_EQ(shape.params.size(), workload.params.size());
        for (std::size_t p = 0; p < shape.params.size(); ++p) {
          const Range& range = workload.ranges[p];
          const long long value = shape.params[p];
          if (!range.values.empty()) {
            EXPECT_THAT(range.values, testing::Contains(value));
          } else {
            EXPECT_TRUE(value >= range.from && value <= range.to);
            EXPECT_EQ((value - range.from) % range.step, 0);
          }
        }
        if (!workload.draws.positive.empty()) {
          EXPECT_GT(*evaluate(workload.draws.positive, workload.variables(shape)), 0);
        }
        const double bytes = workload.demand(shape)->hbm_bytes;
        const bool is_long = shape.uses.contains(Use::Hidden) && uses[Use::Hidden] > 2;
        EXPECT_LE(bytes, shape.uses.contains(Use::Near) ? 1.3 * largest
                         : is_long                      ? 0.75 * largest
                                                        : largest / 4)
            << name << " " << shape.name;
      }
      EXPECT_EQ(uses[Use::Check], 2);
      const auto ranged = std::ranges::count_if(
          workload.ranges, [](const Range& range) { return range.values.empty(); });
      // Of tokens * top and of the experts' weights, no range makes long enough what it needs.
      const int mixed = name == std::string("moe_dispatch_combine") ? 4 : 0;
      EXPECT_EQ(uses[Use::Hidden], 2 + 2 * ranged + mixed);
      EXPECT_EQ(uses[Use::Near], 2);
    }
  }
}

TEST(Draw, EveryRangeIsLongOnceWithEachElementType) {
  for (const char* name : {"gemm_allgather", "moe_dispatch_combine", "fused_add_rmsnorm"}) {
    const Workload workload = shipped(name);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto drawn = *draw_shapes(workload, Secret::from("s", seed));
      for (std::size_t p = 0; p < workload.params.size(); ++p) {
        if (!workload.ranges[p].values.empty()) continue;
        long long highest = 0;
        for (const Shape* timed : workload.shapes_for(Use::Time))
          highest = std::max(highest, timed->params[p]);
        std::set<long long> types;
        for (const Shape& shape : drawn) {
          if (shape.uses.contains(Use::Hidden) && shape.params[p] >= highest)
            types.insert(shape.params.back());
        }
        EXPECT_EQ(types.size(), 2U) << name << " " << workload.params[p];
      }
    }
  }
}

TEST(Draw, ALengthOfSeveralParametersIsLongWhateverTheSecret) {
  const Workload workload = shipped("moe_dispatch_combine");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // Threads of a block that is one of 1 + 128 / experts for each expert.
    double rounds = 0;
    const auto shapes = draw_shapes(workload, Secret::from("s", seed));
    ASSERT_TRUE(shapes);
    for (const Shape& shape : *shapes) {
      const auto slots = static_cast<double>(shape.params[0] * shape.params[4]);
      const long long parts = 1 + 128 / shape.params[3];
      if (shape.uses.contains(Use::Hidden))
        rounds = std::max(rounds, slots / static_cast<double>(256 * parts));
    }
    EXPECT_GT(rounds, 1) << "seed " << seed;
  }
}

TEST(Draw, TwoValuesOfTwoParametersMeetInAllFourWays) {
  const Workload workload = shipped("moe_dispatch_combine");
  const auto drawn = *draw_shapes(workload, Secret::from("s", 3));
  std::set<std::pair<long long, long long>> met;  // an empty expert, and the element type
  for (std::size_t i = 0; i < 4; ++i)
    met.emplace(drawn[i].params[6], drawn[i].params[7]);
  EXPECT_EQ(met.size(), 4U);
}

TEST(Draw, BothElementTypesAreCheckedAndTheTimedShapesHaveNeighbours) {
  const Workload workload = shipped("gemm_allgather");
  const auto drawn = *draw_shapes(workload, Secret::from("s", 3));
  const auto of = [&](Use use) {
    std::vector<Shape> list;
    for (const Shape& shape : drawn) {
      if (shape.uses.contains(use)) list.push_back(shape);
    }
    return list;
  };
  EXPECT_NE(of(Use::Check)[0].params.back(), of(Use::Check)[1].params.back());
  EXPECT_NE(of(Use::Hidden)[0].params.back(), of(Use::Hidden)[1].params.back());
  EXPECT_EQ(of(Use::Hidden)[0].name, "hidden 1") << "no proposer may read what it was";
  EXPECT_THAT(of(Use::Check)[0].name, HasSubstr("bf16="));
  const std::vector<const Shape*> timed = workload.shapes_for(Use::Time);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const Shape near = of(Use::Near)[i];
    EXPECT_EQ(near.name, "near " + timed[i]->name);
    EXPECT_NE(near.params, timed[i]->params);
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_LE(std::abs(near.params[p] - timed[i]->params[p]), 2 * workload.ranges[p].step);
    }
  }
}

TEST(Draw, AWorkloadWithListedShapesAloneHasNone) {
  Workload workload = shipped("gemm_allgather");
  workload.ranges.clear();
  EXPECT_TRUE(draw_shapes(workload, Secret::from("s", 1))->empty());
}

TEST(Workload, NeedsARangeOrListedShapesToCheck) {
  std::string text = with("[range]", "[range_]");
  const std::size_t from = text.find("[range_]");
  text.erase(from, text.find("[[shape]]") - from);
  EXPECT_THAT(parse_workload(text, "w.toml").error().message(),
              HasSubstr("needs a [range] of every parameter"));
  text.replace(text.find("use = [\"time\"]"), 14, "use = [\"check\", \"time\"]");
  EXPECT_TRUE(parse_workload(text, "w.toml"));
}

TEST(Secret, KeysAreRepeatableSecretAndApart) {
  const system::TempFolder folder = *system::TempFolder::create();
  const Secret once = *Secret::load(folder.path() / "deep", 7);
  const Secret again = *Secret::load(folder.path() / "deep", 7);
  const Secret other_run = *Secret::load(folder.path() / "deep", 8);
  EXPECT_EQ(once.key("a"), again.key("a"));
  EXPECT_NE(once.key("a"), once.key("b"));
  EXPECT_NE(once.key("a"), other_run.key("a"));
  EXPECT_NE(once.key("a"), Secret::from("", 7).key("a"));
  const auto mode = std::filesystem::status(folder.path() / "deep/secret").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(Workload, AWholeProgramIsToldWhatItIsGoodFor) {
  const system::TempFolder folder = *system::TempFolder::create("whole");
  ASSERT_TRUE(system::write_file(folder.path() / "workload.toml", "name = \"w\"\n[whole]\n"));
  const auto workload = load_workload(folder.path());
  ASSERT_FALSE(workload);
  EXPECT_THAT(workload.error().message(), testing::HasSubstr("is a whole program"));
}

}  // namespace
}  // namespace cuco::workload
