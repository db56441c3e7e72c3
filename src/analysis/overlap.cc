// SPDX-License-Identifier: Apache-2.0
#include "analysis/overlap.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/trace/kernel_symbol.h"

namespace cuco::analysis {
namespace {

/// "kernel _Z4fillIfEvPT_i" is the kernel fill, "ncclAllReduce of rank 0 …" the call.
std::string plain_name(const std::string& what) {
  constexpr std::string_view kKernel = "kernel ";
  if (!what.starts_with(kKernel)) return what.substr(0, what.find(' '));
  return read_symbol(what.substr(kKernel.size())).name;
}

double time_of(const Times& times, const std::string& name) {
  const auto found = times.find(name);
  return found == times.end() ? 0 : found->second;
}

}  // namespace

Result<Times> read_times(std::string_view report) {
  constexpr double kPicosecondsPerMicrosecond = 1e6;
  try {
    const auto json = nlohmann::json::parse(report);
    std::map<std::string, std::pair<double, int>> sums;
    for (const auto& work : json.at("works")) {
      auto& [sum, count] = sums[plain_name(work.at("what").get<std::string>())];
      sum += work.at("finished_ps").get<double>() - work.at("started_ps").get<double>();
      ++count;
    }
    Times times;
    for (const auto& [name, sum] : sums)
      times[name] = sum.first / sum.second / kPicosecondsPerMicrosecond;
    return times;
  } catch (const nlohmann::json::exception& error) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("not a profile of cuco run: {}", error.what())};
  }
}

std::vector<Overlap> find_overlaps(const CommunicationGraph& graph, const Times& times) {
  std::vector<Overlap> overlaps;
  for (const auto& site : graph.sites) {
    Overlap overlap;
    // A group is as long as its longest part.
    for (const int index : site.collectives) {
      const auto& call = graph.collectives[static_cast<std::size_t>(index)];
      overlap.communication_us = std::max(overlap.communication_us, time_of(times, call.name));
    }
    std::set<int> beside(site.independent.begin(), site.independent.end());
    for (const auto* list : {&site.producers, &site.consumers}) {
      for (const auto& flow : *list)
        beside.insert(flow.operation);
    }
    std::set<std::string> counted;
    for (const int number : beside) {
      const auto& operation = graph.operations[static_cast<std::size_t>(number)];
      // The two sides of a condition are one piece of work.
      if (operation.kind == OperationKind::Launch && counted.insert(operation.name).second) {
        overlap.beside_us += time_of(times, operation.name);
      }
    }
    overlap.gain_us = std::min(overlap.communication_us, overlap.beside_us);
    overlaps.push_back(overlap);
  }
  return overlaps;
}

}  // namespace cuco::analysis
