// SPDX-License-Identifier: Apache-2.0
#include "cli/live/search_view.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "report/progress.h"

namespace cuco::cli {
namespace {

constexpr std::size_t kMostNews = 8;

/// Events that speak of unknown candidates are ignored, as everywhere.
struct Apply {
  SearchView& view;
  std::int64_t time_ms;

  SeenCandidate* find(candidate::Number number) {
    const auto index = static_cast<std::size_t>(number);
    return number >= 0 && index < view.seen.size() ? &view.seen[index] : nullptr;
  }
  void tell(candidate::Number number, bool good, std::string text) {
    if (view.news.size() == kMostNews) view.news.erase(view.news.begin());
    view.news.push_back({number, good, std::move(text)});
  }

  /// What was asked for it and not answered never will be.
  void decided(candidate::Decision decision) {
    std::erase_if(view.questions,
                  [&](const auto& open) { return open.second.decision == decision; });
  }

  void operator()(const candidate::RunStarted&) {}
  void operator()(const candidate::StepDone& event) {
    if (event.step.starts_with("tune: round")) ++view.rounds_done;
  }
  void operator()(const candidate::Proposed& event) {
    decided(event.decision);
    if (event.candidate.number != static_cast<candidate::Number>(view.seen.size())) return;
    candidate::Entry entry;
    entry.candidate = event.candidate;
    view.seen.push_back(
        {report::design_of(entry), event.candidate.lineage.island, false, std::nullopt});
    if (!event.candidate.lineage.phase.empty()) view.phase = event.candidate.lineage.phase;
    if (!event.rejected) return;
    view.seen.back().judged = true;
    tell(event.candidate.number, false, candidate::summary(*event.rejected));
  }
  void operator()(const candidate::Declined& event) { decided(event.decision); }
  void operator()(const candidate::Reserved& event) {
    ++view.calls;
    view.tokens += event.tokens;
    view.dollars += event.dollars;
    view.questions[event.question] = {event.decision, time_ms, event.tokens, event.dollars};
  }
  void operator()(const candidate::Exchanged& event) {
    const candidate::Exchange& exchange = event.exchange;
    if (const auto before = view.questions.extract(exchange.question); !before.empty()) {
      view.tokens -= before.mapped().tokens;
      view.dollars -= before.mapped().dollars;
    } else {
      ++view.calls;
    }
    view.tokens += exchange.prompt_tokens + exchange.answer_tokens + exchange.lost_tokens;
    view.dollars += std::max(exchange.dollars, 0.0);
  }
  void operator()(const candidate::Evaluated& event) {
    SeenCandidate* known = find(event.candidate);
    if (known == nullptr) return;
    known->judged = true;
    const auto* scored = std::get_if<candidate::Scored>(&event.outcome);
    if (scored == nullptr) {
      known->time.reset();
      tell(event.candidate, false, candidate::summary(event.outcome));
      return;
    }
    const bool is_seed = event.candidate == candidate::kSeed;
    known->time = {scored->seconds, is_seed ? scored->seconds : scored->baseline_seconds,
                   scored->bound_seconds, scored->predicted,
                   event.rung.fidelity >= candidate::Fidelity::Scaled};
    if (is_seed) return;
    tell(event.candidate, true,
         fmt::format("{} = {:.2f}x {}  {}", human_seconds(scored->seconds), known->time->speedup(),
                     candidate::name(event.rung.fidelity), known->design));
  }
  void operator()(const candidate::SetAside& event) {
    if (!event.candidate) decided(event.decision);
    if (event.candidate) tell(*event.candidate, false, "set aside: " + event.reason);
  }
  void operator()(const candidate::Compared& event) {
    tell(event.challenger, event.comparison.faster,
         fmt::format("beside #{}: {:.3f}x to {:.3f}x", event.incumbent,
                     event.comparison.speedup.low, event.comparison.speedup.high));
  }
  void operator()(const candidate::Planned&) {}
  void operator()(const candidate::Noted&) {}
  void operator()(const candidate::BestChanged& event) {
    if (find(event.candidate) != nullptr) view.best = event.candidate;
  }
  void operator()(const candidate::RunFinished&) {}
};

/// "2" before "10", and both before names.
bool comes_before(const IslandBest& a, const IslandBest& b) {
  const auto is_number = [](const std::string& name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool both = is_number(a.name) && is_number(b.name);
  if (both && a.name.size() != b.name.size()) return a.name.size() < b.name.size();
  return a.name < b.name;
}

}  // namespace

void SearchView::apply(const candidate::Event& event) {
  now_ms = event.time_ms;
  std::visit(Apply{*this, event.time_ms}, event.body);
}

const SeenCandidate* SearchView::candidate(candidate::Number number) const {
  const auto index = static_cast<std::size_t>(number);
  return number >= 0 && index < seen.size() ? &seen[index] : nullptr;
}

std::optional<SeenTime> SearchView::seed_time() const {
  return seen.empty() ? std::nullopt : seen.front().time;
}

int SearchView::judged() const {
  const auto all = std::ranges::count(seen, true, &SeenCandidate::judged);
  return static_cast<int>(all) - (!seen.empty() && seen.front().judged ? 1 : 0);
}

int SearchView::correct() const {
  const auto all = std::ranges::count_if(
      seen, [](const SeenCandidate& candidate) { return candidate.time.has_value(); });
  return static_cast<int>(all) - (seed_time() ? 1 : 0);
}

std::vector<IslandBest> SearchView::islands() const {
  std::map<std::string, IslandBest> by_name;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const SeenCandidate& one = seen[i];
    if (one.island.empty() || !one.judged) continue;
    IslandBest& island = by_name[one.island];
    island.name = one.island;
    ++island.judged;
    if (!one.time) continue;
    if (std::pair(one.time->full, one.time->speedup()) > std::pair(island.full, island.speedup)) {
      island.full = one.time->full;
      island.speedup = one.time->speedup();
      island.number = static_cast<candidate::Number>(i);
    }
  }
  std::vector<IslandBest> list;
  for (auto& [key, island] : by_name)
    list.push_back(std::move(island));
  std::ranges::stable_sort(list, comes_before);
  return list;
}

}  // namespace cuco::cli
