// SPDX-License-Identifier: Apache-2.0
// Damaged PTX must trap, deadlock, spend its budget or finish: never crash the process.
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/text.h"
#include "fixture.h"

namespace cuco::vgpu {
namespace {

/// One random edit of the lines: swap, repeat, drop, exchange of a token, change of a number.
void damage(std::vector<std::string>& lines, Rng& rng) {
  const auto pick = [&]() -> std::string& { return lines[rng.below(lines.size())]; };
  std::string& line = pick();
  switch (rng.below(5)) {
    case 0:
      std::swap(line, pick());
      break;
    case 1:
      line = pick();
      break;
    case 2:
      line.clear();
      break;
    case 3: {  // Another register, maybe of another class.
      const std::size_t at = line.find('%');
      const std::string& other = pick();
      const std::size_t from = other.find('%');
      if (at == std::string::npos || from == std::string::npos) break;
      const auto end = [](const std::string& text, std::size_t start) {
        return text.find_first_of(",;]} +", start);
      };
      line = line.substr(0, at) + other.substr(from, end(other, from) - from) +
             (end(line, at) == std::string::npos ? "" : line.substr(end(line, at)));
      break;
    }
    default: {
      const std::size_t at = line.find_first_of("0123456789");
      if (at != std::string::npos) line.replace(at, 1, std::to_string(rng.below(100'000'000'000)));
      break;
    }
  }
}

void run_damaged(const std::string& file, std::uint64_t seed, int rounds) {
  const std::string text = read_text(file);
  Rng rng(seed);
  int executed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::string> lines;
    for (const std::string_view line : split(text, '\n'))
      lines.emplace_back(line);
    const std::uint64_t edits = 1 + rng.below(4);
    for (std::uint64_t i = 0; i < edits; ++i)
      damage(lines, rng);
    auto harness = Harness::load(join(lines, "\n"), h200());
    if (!harness) continue;
    Program& program = (*harness)->program();
    for (std::uint32_t k = 0; k < program.kernel_count(); ++k) {
      const KernelInfo& info = program.kernel_info(k);
      const Address buffer = (*harness)->allocate(1U << 16U);
      std::vector<std::vector<std::byte>> args;
      for (const ParameterInfo& parameter : info.parameters) {
        std::vector<std::byte> bytes(parameter.bytes);
        const std::uint64_t value = parameter.bytes == 8 ? buffer : 64;
        std::memcpy(bytes.data(), &value, std::min<std::size_t>(8, bytes.size()));
        args.push_back(std::move(bytes));
      }
      const auto result = (*harness)->run_packed(
          info.name, {.grid = {2, 1, 1}, .block = {64, 1, 1}, .instruction_budget = 5'000}, args);
      executed += result ? 1 : 0;
    }
  }
  EXPECT_GT(executed, rounds / 4);
}

TEST(Hostile, DamagedKernelsDoNotCrash) {
  run_damaged("bench/data/kernels.ptx", 1, 60);
}

TEST(Hostile, DamagedProgramsDoNotCrash) {
  run_damaged("tests/unit/vgpu/data/programs.ptx", 2, 60);
}

}  // namespace
}  // namespace cuco::vgpu
