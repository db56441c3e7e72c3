// SPDX-License-Identifier: Apache-2.0
#include "search/evolve/notes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::search {
namespace {
using candidate::Number;

constexpr int kManyFailures = 3;

struct RegionRecord {
  int tried = 0;
  int failed = 0;
  Number best = candidate::kSeed;
  double fitness = 0;
  std::map<std::string, int> failures;  ///< By verdict.
};

std::map<Region, RegionRecord> records_of(const candidate::Run& run,
                                          candidate::Rung rung,
                                          const Memory& memory) {
  std::map<Region, RegionRecord> records;
  for (Number number = candidate::kSeed + 1; number < run.candidates(); ++number) {
    const candidate::Entry& entry = run.entry(number);
    if (entry.candidate.source.empty() || entry.latest() == nullptr || entry.was_skipped())
      continue;
    RegionRecord& record = records[region_of(entry.candidate.directive)];
    ++record.tried;
    if (run.scored(number, rung) == nullptr) {
      ++record.failed;
      ++record.failures[std::string(candidate::verdict(*entry.latest()))];
    } else if (const double fitness = memory.fitness(number); fitness > record.fitness) {
      record.fitness = fitness;
      record.best = number;
    }
  }
  return records;
}

std::string failing(const Region& region, const RegionRecord& record) {
  const auto worst =
      std::max_element(record.failures.begin(), record.failures.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{}: {} of {} failed, mostly {}", to_text(region), record.failed, record.tried,
                     worst->first);
}

std::string paying(const Memory& memory) {
  const Arm* best = nullptr;
  double most = 0;
  for (const auto& [arm, record] : memory.bandit.records()) {
    const double mean = record.pulls > 0 ? record.gains / record.pulls : 0;
    if (mean <= most) continue;
    most = mean;
    best = &arm;
  }
  if (best == nullptr) return {};
  return fmt::format("what has paid most: {} by {} ({})", candidate::name(best->operation),
                     best->proposer, best->phase);
}

}  // namespace

std::vector<std::string> notes_from(const candidate::Run& run,
                                    candidate::Rung rung,
                                    const Memory& memory) {
  std::vector<std::string> notes;
  const Member* best = memory.islands.best();
  for (const auto& [region, record] : records_of(run, rung, memory)) {
    if (record.best != candidate::kSeed) {
      notes.push_back(fmt::format(
          "{}: #{} reaches {:.2f}x{}", to_text(region), record.best, record.fitness,
          best != nullptr && best->number == record.best ? ", the fastest so far" : ""));
    }
    if (record.failed >= kManyFailures) notes.push_back(failing(region, record));
  }
  if (auto line = paying(memory); !line.empty()) notes.push_back(std::move(line));
  return notes;
}

}  // namespace cuco::search
