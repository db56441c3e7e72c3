// SPDX-License-Identifier: Apache-2.0
#include "expert/kernels/steps.h"

#include <algorithm>
#include <string_view>

namespace cuco::expert::kernels {
namespace {

using candidate::Scored;
using design::KernelDesign;

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;
constexpr int kWidest = 16;

constexpr std::string_view kVectors =
    "fewer and wider accesses keep more bytes in flight for each thread";
constexpr std::string_view kNarrow = "half as wide accesses need fewer registers";
constexpr std::string_view kShuffles =
    "shuffles need one barrier where a tree in shared memory needs one per level";
constexpr std::string_view kSplit = "several blocks share a row, so that all SMs have work";
constexpr std::string_view kJoin = "a block does several rows: fewer blocks to start";
constexpr std::string_view kTogether =
    "all that the kernels allow at once: wide loads, all of them under way before the first is "
    "used and read once, few barriers, cheap arithmetic, blocks that fit the sizes";
constexpr std::string_view kRounds =
    "a thread has the loads of more or fewer rounds under way, and keeps them for later loops";
constexpr std::string_view kFastMath =
    "approximate division and exponentials need fewer instructions; the judge decides whether the "
    "results are good enough";
constexpr std::string_view kReadOnly =
    "what nobody writes can be loaded past the coherent path, and before stores";
constexpr std::string_view kFitted =
    "each launch gets threads and blocks for the sizes that it is given";
constexpr std::string_view kWithout =
    "what this costs, registers above all, may be more than it gains";
constexpr std::string_view kThreads = "another block size changes how many loads are in flight";

/// Another geometry, and what it helps against.
struct Geometry {
  int threads, blocks_per_row, rows_per_block;
  Limit against;
};

std::string_view reason(const Geometry& geometry) {
  if (geometry.blocks_per_row > 1) return kSplit;
  return geometry.rows_per_block > 1 ? kJoin : kThreads;
}

/// From one block a row, with the threads that the program gives it.
std::vector<Geometry> first_geometries(int threads, int elements) {
  std::vector<Geometry> found;
  // The row keeps its threads, in smaller blocks, or gets more.
  for (const int blocks : {8, 4, 2}) {
    found.push_back({std::max(kWarp, threads / blocks), blocks, 0, Limit::FewBlocks});
    found.push_back({threads, blocks, 0, Limit::FewBlocks});
  }
  // A vector is several elements: that many times fewer threads do a row in as many rounds.
  const int fewer = std::max(1, threads / elements);
  found.push_back({fewer, 0, std::max(2, threads / fewer), Limit::ManyBlocks});
  found.push_back({threads * 2, 0, 0, Limit::Memory});
  found.push_back({threads * 4, 0, 0, Limit::Barriers});
  found.push_back({threads / 2, 0, 0, Limit::ManyBlocks});
  found.push_back({threads / 4, 0, 0, Limit::ManyBlocks});
  return found;
}

/// One factor of two from where it is.
std::vector<Geometry> neighbours(const KernelDesign& design, int threads) {
  const int blocks = design.blocks_per_row;
  const int rows = design.rows_per_block;
  std::vector<Geometry> found;
  if (rows > 1) {
    found.push_back({threads, 0, rows * 2, Limit::ManyBlocks});
    found.push_back({threads / 2, 0, rows * 2, Limit::ManyBlocks});
    found.push_back({threads, 0, rows / 2, Limit::FewBlocks});
    found.push_back({threads * 2, 0, rows / 2, Limit::Memory});
  }
  if (blocks > 1) {
    found.push_back({threads, blocks * 2, 0, Limit::FewBlocks});
    found.push_back({threads / 2, blocks * 2, 0, Limit::FewBlocks});
    found.push_back({threads * 2, blocks / 2, 0, Limit::Memory});
    found.push_back({threads, blocks / 2, 0, Limit::ManyBlocks});
  }
  found.push_back({threads * 2, blocks, rows, Limit::Memory});
  found.push_back({threads / 2, blocks, rows, Limit::ManyBlocks});
  return found;
}

std::vector<Geometry> geometries(const KernelDesign& design, const LaunchFacts& facts) {
  if (facts.threads == 0) return {};
  const int threads = design.threads > 0 ? design.threads : facts.threads;
  if (design.fitted) return {};
  const bool first = design.threads + design.blocks_per_row + design.rows_per_block == 0;
  auto found = first ? first_geometries(threads, facts.elements) : neighbours(design, threads);
  std::erase_if(found, [](const Geometry& geometry) {
    const int rows = std::max(1, geometry.rows_per_block);
    const int least = rows > 1 ? 1 : kWarp;
    return geometry.threads < least || geometry.threads * rows > kMostThreads;
  });
  return found;
}

KernelDesign with(KernelDesign design, const Geometry& geometry, const LaunchFacts& facts) {
  design.threads = geometry.threads == facts.threads ? 0 : geometry.threads;
  design.blocks_per_row = geometry.blocks_per_row > 1 ? geometry.blocks_per_row : 0;
  design.rows_per_block = geometry.rows_per_block > 1 ? geometry.rows_per_block : 0;
  return design;
}

/// All that fits at once on top of a design; launches are fitted instead of its geometry.
KernelDesign together(KernelDesign design, const KernelDesign& fits) {
  design.vector_bytes = std::max(design.vector_bytes, fits.vector_bytes);
  design.rounds = std::max(design.rounds, fits.rounds);
  design.shuffles |= fits.shuffles;
  design.fast_math |= fits.fast_math;
  design.read_only |= fits.read_only;
  if (fits.fitted && !design.fitted) {
    design.fitted = true;
    design.threads = design.blocks_per_row = design.rows_per_block = 0;
  }
  return design;
}

/// One of the dimensions that are there or not more or less, or another number of rounds.
std::vector<Step> small_steps(const KernelDesign& design, const KernelDesign& fits) {
  constexpr int kMostRounds = 8;
  std::vector<Step> found;
  const auto add = [&](auto KernelDesign::* dimension, auto value, std::string_view why) {
    auto next = design;
    next.*dimension = value;
    found.push_back({next, std::string(why)});
  };
  if (fits.rounds > 0 && design.vector_bytes > 0) {
    if (design.rounds < kMostRounds)
      add(&KernelDesign::rounds, std::max(1, design.rounds * 2), kRounds);
    if (design.rounds > 0) add(&KernelDesign::rounds, design.rounds / 2, kRounds);
  }
  if (fits.fast_math)
    add(&KernelDesign::fast_math, !design.fast_math, design.fast_math ? kWithout : kFastMath);
  if (fits.read_only)
    add(&KernelDesign::read_only, !design.read_only, design.read_only ? kWithout : kReadOnly);
  const bool own = design.blocks_per_row + design.rows_per_block > 0;
  if (fits.fitted && !design.fitted && !own) add(&KernelDesign::fitted, true, kFitted);
  if (design.fitted) {
    for (const int most : {512, 256, 1024, 128})
      add(&KernelDesign::threads, most, kThreads);
  }
  return found;
}

/// The time of a verdict's shapes that goes to a phase.
double seconds_in(const Scored& scored, std::string_view phase) {
  double sum = 0;
  for (const auto& shape : scored.shapes) {
    for (const auto& part : shape.phases) {
      if (part.phase == phase) sum += part.seconds;
    }
  }
  return sum;
}

}  // namespace

Limit limit_of(const candidate::Outcome& outcome) {
  const auto* scored = std::get_if<Scored>(&outcome);
  if (scored == nullptr || scored->shapes.empty()) return Limit::Unknown;
  constexpr double kMuch = 0.1;
  constexpr double kFew = 2;
  constexpr double kMany = 16;
  double all = 0;
  double blocks = 0;
  double waves = 0;
  for (const auto& shape : scored->shapes) {
    all += shape.seconds;
    const auto& filling = shape.scale_model.filling;
    if (filling.blocks_per_sm > 0 && (blocks == 0 || filling.blocks_per_sm < blocks))
      blocks = filling.blocks_per_sm;
    waves = std::max(waves, filling.waves);
  }
  if (seconds_in(*scored, "at barriers") > kMuch * all) return Limit::Barriers;
  if (waves > kMany) return Limit::ManyBlocks;
  if (blocks > 0 && blocks < kFew) return Limit::FewBlocks;
  return seconds_in(*scored, "waiting for memory") > kMuch * all ? Limit::Memory : Limit::Unknown;
}

std::vector<Step> steps_from(const KernelDesign& design, Limit limit, const LaunchFacts& facts) {
  std::vector<Step> steps;
  const auto add = [&](const KernelDesign& next, std::string_view why, bool asked) {
    if (!(next == design)) steps.push_back({next, std::string(why), asked});
  };
  KernelDesign wide = design;
  wide.vector_bytes = kWidest;
  KernelDesign shuffled = design;
  shuffled.shuffles = true;
  // What the kernels allow for certain comes before what the profile only suggests.
  if (const auto all = together(design, facts.together); !(all == together(wide, {})))
    add(all, kTogether, true);
  if (design.fitted) {
    for (const auto& step : small_steps(design, facts.together))
      add(step.design, step.because, true);
  }
  add(wide, kVectors, limit == Limit::Memory);
  add(shuffled, kShuffles, limit == Limit::Barriers);
  const auto others = geometries(design, facts);
  for (const auto& geometry : others) {
    auto joint = with(wide, geometry, facts);
    add(joint, reason(geometry), limit == geometry.against);
    joint.shuffles = true;
    if (!design.shuffles && geometry.blocks_per_row + geometry.rows_per_block <= 1)
      add(joint, reason(geometry), limit == Limit::Barriers);
  }
  for (const auto& geometry : others)
    add(with(design, geometry, facts), reason(geometry), false);
  for (const auto& step : small_steps(design, facts.together))
    add(step.design, step.because, false);
  KernelDesign narrow = design;
  narrow.vector_bytes = kWidest / 2;
  add(narrow, kNarrow, false);
  std::ranges::stable_sort(steps, std::ranges::greater(), &Step::asked);
  return steps;
}

}  // namespace cuco::expert::kernels
