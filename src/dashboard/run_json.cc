// SPDX-License-Identifier: Apache-2.0
#include "dashboard/run_json.h"

#include <array>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "candidate/event_json.h"
#include "candidate/run_state.h"
#include "report/cost.h"
#include "report/facts.h"
#include "report/known_error.h"
#include "search/population/cell.h"
#include "store/stored_run.h"

namespace cuco::dashboard {
namespace {
using candidate::CandidateSummary;

/// Places of words in a list that has each once.
class Words {
 public:
  std::size_t place_of(const std::string& word) {
    const auto [found, is_new] = places_.try_emplace(word, list_.size());
    if (is_new) list_.push_back(word);
    return found->second;
  }
  [[nodiscard]] Json take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::size_t> places_;
  Json list_ = Json::array();
};

bool is_predicted(const CandidateSummary& candidate) {
  return !candidate.rung || candidate::is_predicted(candidate.rung->target);
}

Json files_json(const program::Source& source) {
  Json list = Json::array();
  for (const auto& file : source.files())
    list.push_back({{"path", file.path}, {"text", file.text}});
  return list;
}

Json verdict_json(const candidate::Evaluated& evaluated) {
  const auto& outcome = evaluated.outcome;
  Json object{{"rung", candidate::to_text(evaluated.rung)},
              {"verdict", candidate::verdict(outcome)},
              {"summary", candidate::summary(outcome)},
              {"explanation", candidate::explanation(outcome)},
              {"predicted", candidate::is_predicted(evaluated.rung.target)},
              {"wall_seconds", evaluated.wall_seconds},
              {"outcome", Json::object()}};
  if (auto parsed = parse_json(candidate::to_json(outcome))) object["outcome"] = *std::move(parsed);
  return object;
}

Json rejection_json(const candidate::ProposalRejected& rejected) {
  return {{"rung", "the answer itself"},
          {"verdict", candidate::verdict(rejected)},
          {"summary", candidate::summary(rejected)},
          {"explanation", candidate::explanation(rejected)},
          {"predicted", true},
          {"wall_seconds", 0.0},
          {"outcome", Json::object()}};
}

Json exchange_json(const candidate::Exchange& exchange) {
  Json object{{"role", exchange.role},
              {"model", exchange.answered_by.empty()
                            ? fmt::format("{}:{}", exchange.provider, exchange.model)
                            : exchange.answered_by},
              {"prompt", exchange.prompt},
              {"answer", exchange.answer},
              {"prompt_tokens", exchange.prompt_tokens},
              {"answer_tokens", exchange.answer_tokens},
              {"seconds", exchange.seconds},
              {"dollars", nullptr}};
  if (exchange.dollars >= 0) object["dollars"] = exchange.dollars;
  return object;
}

/// The source of another candidate; empty if there is none.
Result<Json> files_of(const store::RunReader& reader, candidate::Number number) {
  CUCO_TRY_ASSIGN(const auto events, reader.events_of(number));
  if (events.empty()) return Json::array();
  return files_json(std::get<candidate::Proposed>(events.front().body).candidate.source);
}

}  // namespace

Result<Json> head_json(const store::RunFolder& folder, const store::RunReader& reader) {
  CUCO_TRY_ASSIGN(const store::RunOverview run, reader.overview());
  const auto& summary = run.summary;
  Json object{{"run", folder.name},
              {"state", store::state_text(folder, summary.finished)},
              {"workload", summary.workload},
              {"target", summary.target},
              {"hardware", summary.hardware},
              {"seed", summary.seed},
              {"started_ms", summary.started_ms},
              {"last_ms", summary.last_ms},
              {"sequence", run.sequence},
              {"candidates", run.candidates},
              {"judge_seconds", run.judge_seconds}};
  if (run.best && run.best->seconds > 0) {
    object["best"] = {{"candidate", run.best->number},
                      {"seconds", run.best->seconds},
                      {"baseline_seconds", run.best->baseline_seconds},
                      {"bound_seconds", run.best->bound_seconds},
                      {"predicted", is_predicted(*run.best)},
                      {"hardware", run.best->hardware},
                      {"design", run.best->directive}};
    if (is_predicted(*run.best))
      object["best"]["error"] = report::known_error(run.best->hardware, summary.hardware);
  }
  return object;
}

Result<Json> detail_json(const store::RunFolder& folder, const store::RunReader& reader) {
  CUCO_TRY_ASSIGN(Json object, head_json(folder, reader));
  constexpr std::array<std::string_view, 4> kKinds{"run-started", "step", "planned", "noted"};
  CUCO_TRY_ASSIGN(const auto events, reader.events_of(kKinds));
  const candidate::RunState state = candidate::fold(events);
  object["asked"] = Json::array();
  for (const auto& [label, value] : report::asked(state))
    object["asked"].push_back({label, value});
  object["steps"] = Json::array();
  for (const auto& step : state.steps)
    object["steps"].push_back({{"step", step.step}, {"ok", step.ok}, {"detail", step.detail}});
  object["plans"] = Json::array();
  std::map<int, std::vector<candidate::Number>> tries;
  if (!state.plans.empty()) {
    CUCO_TRY_ASSIGN(tries, reader.tries());
  }
  for (const auto& plan : state.plans) {
    Json one{{"number", plan.number},
             {"design", design::to_text(plan.directive)},
             {"reason", plan.reason},
             {"expected_gain", plan.expected_gain},
             {"preconditions", plan.preconditions},
             {"tries", tries[plan.number]}};
    if (plan.parent) one["parent"] = *plan.parent;
    object["plans"].push_back(std::move(one));
  }
  object["notes"] = state.notes.empty() ? std::vector<std::string>() : state.notes.back();
  return object;
}

Json rows_json(std::span<const CandidateSummary> list) {
  Words words;
  words.place_of("");
  Json rows = Json::array();
  for (const CandidateSummary& one : list) {
    Json row = Json::array({one.number, nullptr});
    if (one.parent) row[1] = *one.parent;
    const std::string fidelity(one.rung ? candidate::name(one.rung->fidelity) : "");
    for (const std::string& word :
         {one.island, one.phase, one.proposer, one.directive, fidelity, one.verdict})
      row.push_back(words.place_of(word));
    for (const double seconds : {one.seconds, one.baseline_seconds, one.bound_seconds})
      row.push_back(seconds);
    row.push_back(is_predicted(one) ? 1 : 0);
    // A time says itself what its line would say.
    row.push_back(one.seconds > 0 ? std::string() : one.text);
    rows.push_back(std::move(row));
  }
  return {{"words", words.take()}, {"rows", std::move(rows)}};
}

Result<Json> candidate_json(const store::RunFolder& folder,
                            const store::RunReader& reader,
                            candidate::Number number) {
  CUCO_TRY_ASSIGN(const auto events,
                  number < 0 ? std::vector<candidate::Event>() : reader.events_of(number));
  if (events.empty())
    return Error{ErrorKind::NotFound, fmt::format("the run has no candidate #{}", number)};
  const auto& proposed = std::get<candidate::Proposed>(events.front().body);
  const candidate::Candidate& made = proposed.candidate;
  Json object{{"number", number},
              {"design", design::to_text(made.directive)},
              {"proposer", made.lineage.proposer},
              {"island", made.lineage.island},
              {"phase", made.lineage.phase},
              {"because", made.lineage.because},
              {"operation", made.lineage.operation},
              {"code_hash", made.code_hash},
              {"parent", nullptr},
              {"plan", nullptr},
              {"inspirations", made.lineage.inspirations},
              {"verdicts", Json::array()},
              {"exchanges", Json::array()},
              {"files", files_json(made.source)}};
  if (made.lineage.parent) object["parent"] = *made.lineage.parent;
  if (made.lineage.plan) object["plan"] = *made.lineage.plan;
  if (proposed.rejected) object["verdicts"].push_back(rejection_json(*proposed.rejected));
  for (const auto& event : events) {
    if (const auto* evaluated = std::get_if<candidate::Evaluated>(&event.body))
      object["verdicts"].push_back(verdict_json(*evaluated));
    if (const auto* exchanged = std::get_if<candidate::Exchanged>(&event.body))
      object["exchanges"].push_back(exchange_json(exchanged->exchange));
  }
  std::error_code code;
  object["timeline"] = std::filesystem::exists(folder.timeline(number), code);
  CUCO_TRY_ASSIGN(object["seed_files"], files_of(reader, candidate::kSeed));
  CUCO_TRY_ASSIGN(object["parent_files"],
                  files_of(reader, made.lineage.parent.value_or(candidate::kSeed)));
  return object;
}

Result<Json> cost_json(const store::RunReader& reader, std::size_t first) {
  constexpr std::size_t kPage = 200;
  CUCO_TRY_ASSIGN(const auto events, reader.cost_events());
  report::Costs costs = report::costs_of(events);
  const auto by_candidate = std::exchange(costs.by_candidate, {});
  Json object = costs.json();
  object["candidates"] = Json::array();
  std::size_t place = 0;
  for (const auto& [number, sum] : by_candidate) {
    if (place >= first && place < first + kPage) {
      Json one = sum.json();
      one["candidate"] = nullptr;
      if (number >= 0) one["candidate"] = number;
      object["candidates"].push_back(std::move(one));
    }
    ++place;
  }
  object["candidates_in_all"] = by_candidate.size();
  return object;
}

Result<Json> archive_json(const store::RunReader& reader) {
  using search::Exposed;
  CUCO_TRY_ASSIGN(const auto shares, reader.exposed_shares());
  Json object{{"bins", Json::array()}, {"exposed", Json::array()}};
  for (const Exposed bin : {Exposed::Little, Exposed::Some, Exposed::Much, Exposed::Unknown})
    object["bins"].push_back(search::name(bin));
  for (const auto& [number, share] : shares)
    object["exposed"].push_back({number, search::name(search::exposed_of(share)), share});
  return object;
}

}  // namespace cuco::dashboard
