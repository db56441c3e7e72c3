// SPDX-License-Identifier: Apache-2.0
#include "targets/loopback/loopback_report.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace cuco::targets {
namespace {

/// A line of a rank; what it lacks is 0.
RankTraffic rank_of(const Json& line) {
  RankTraffic traffic{.rank = line.value("rank", 0),
                      .puts = line.value("puts", std::uint64_t{0}),
                      .put_bytes = line.value("put_bytes", std::uint64_t{0}),
                      .collective_bytes = line.value("collective_bytes", std::uint64_t{0}),
                      .uses_lsa = line.value("lsa_used", false),
                      .seconds = line.value("seconds", 0.0)};
  const auto pacing = line.find("pacing");
  if (pacing != line.end() && pacing->is_object()) {
    traffic.pacing = PacingError{.transfers = pacing->value("transfers", std::uint64_t{0}),
                                 .mean = pacing->value("mean_error", 0.0),
                                 .worst = pacing->value("worst_error", 0.0),
                                 .mean_off_us = pacing->value("mean_off_us", 0.0)};
  }
  return traffic;
}

std::string finding_of(const Json& line) {
  const std::string text = line.value("text", "");
  if (!text.empty()) return text;
  return fmt::format("rank {} waits for {}", line.value("rank", -1), line.value("waits", "?"));
}

template <typename Member>
std::uint64_t sum(const std::vector<RankTraffic>& ranks, Member member) {
  return std::accumulate(
      ranks.begin(), ranks.end(), std::uint64_t{0},
      [&](std::uint64_t total, const RankTraffic& rank) { return total + rank.*member; });
}

}  // namespace

std::string_view name_of(Pacing pacing) {
  switch (pacing) {
    case Pacing::None:
      return "unpaced";
    case Pacing::Partly:
      return "partly paced";
    case Pacing::Whole:
      return "paced";
  }
  return "";
}

std::uint64_t LoopbackReport::puts() const {
  return sum(ranks, &RankTraffic::puts);
}
std::uint64_t LoopbackReport::put_bytes() const {
  return sum(ranks, &RankTraffic::put_bytes);
}
std::uint64_t LoopbackReport::collective_bytes() const {
  return sum(ranks, &RankTraffic::collective_bytes);
}

std::optional<PacingError> LoopbackReport::pacing_error() const {
  PacingError all;
  for (const RankTraffic& rank : ranks) {
    if (!rank.pacing) continue;
    all.transfers += rank.pacing->transfers;
    const auto transfers = static_cast<double>(rank.pacing->transfers);
    all.mean += rank.pacing->mean * transfers;
    all.mean_off_us += rank.pacing->mean_off_us * transfers;
    all.worst = std::max(all.worst, rank.pacing->worst);
  }
  if (all.transfers == 0) return std::nullopt;
  all.mean /= static_cast<double>(all.transfers);
  all.mean_off_us /= static_cast<double>(all.transfers);
  return all;
}

double LoopbackReport::seconds() const {
  double longest = 0;
  for (const RankTraffic& rank : ranks)
    longest = std::max(longest, rank.seconds);
  return longest;
}

LoopbackReport parse_loopback_report(std::string_view text) {
  LoopbackReport report;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    const auto json = parse_json(line);
    try {
      if (json && json->contains("finding")) {
        report.findings.push_back(finding_of(*json));
      } else if (json && json->contains("rank")) {
        report.ranks.push_back(rank_of(*json));
      } else {
        ++report.unreadable;
      }
    } catch (const Json::exception&) {
      ++report.unreadable;  // a member of another type
    }
  }
  std::ranges::stable_sort(report.ranks, {}, &RankTraffic::rank);
  return report;
}

Pacing pacing_of(const LoopbackReport& report, bool has_network) {
  if (!has_network) return Pacing::None;
  return std::ranges::any_of(report.ranks, &RankTraffic::uses_lsa) ? Pacing::Partly : Pacing::Whole;
}

std::string why_not_comparable(Pacing one, Pacing other) {
  if (one == other) return {};
  return fmt::format(
      "one is {} and the other {}: on one GPU loads and stores of peers' memory take no modelled "
      "time, so these times do not say which design is faster; compare them with --on virtual",
      name_of(one), name_of(other));
}

Json to_json(const LoopbackReport& report) {
  Json ranks = Json::array();
  for (const RankTraffic& rank : report.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"puts", rank.puts},
                     {"put_bytes", rank.put_bytes},
                     {"collective_bytes", rank.collective_bytes},
                     {"lsa_used", rank.uses_lsa},
                     {"seconds", rank.seconds}});
  }
  Json object{{"ranks", std::move(ranks)},
              {"findings", report.findings},
              {"unreadable_lines", report.unreadable}};
  if (const auto error = report.pacing_error()) {
    object["pacing_error"] = {{"transfers", error->transfers},
                              {"mean", error->mean},
                              {"worst", error->worst},
                              {"mean_off_us", error->mean_off_us}};
  }
  return object;
}

}  // namespace cuco::targets
