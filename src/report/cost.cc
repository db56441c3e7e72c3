// SPDX-License-Identifier: Apache-2.0
#include "report/cost.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco::report {
using candidate::Exchange;

void Sum::add(const Exchange& exchange) {
  ++calls;
  prompt += exchange.prompt_tokens;
  answer += exchange.answer_tokens;
  cached += exchange.cached_tokens;
  reasoning += exchange.reasoning_tokens;
  lost += exchange.lost_tokens;
  seconds += exchange.seconds;
  if (exchange.dollars < 0) {
    ++unpriced;
  } else {
    dollars += exchange.dollars;
  }
}

std::string Sum::price() const {
  if (unpriced == calls) return "price unknown";
  return fmt::format("${:.4f}{}", dollars,
                     unpriced > 0 ? fmt::format(" + {} of unknown price", unpriced) : "");
}

Json Sum::json() const {
  Json object{{"calls", calls},
              {"prompt_tokens", prompt},
              {"answer_tokens", answer},
              {"cached_tokens", cached},
              {"reasoning_tokens", reasoning},
              {"lost_tokens", lost},
              {"unpriced_calls", unpriced},
              {"seconds", seconds}};
  if (unpriced < calls) object["dollars"] = dollars;
  return object;
}

Json Costs::json() const {
  Json object{{"total", all.json()},
              {"models", Json::object()},
              {"roles", Json::object()},
              {"candidates", Json::object()},
              {"cut_off_calls", open.size()}};
  for (const auto& [model, sum] : by_model)
    object["models"][model] = sum.json();
  for (const auto& [role, sum] : by_role)
    object["roles"][role] = sum.json();
  for (const auto& [number, sum] : by_candidate)
    object["candidates"][std::to_string(number)] = sum.json();
  return object;
}

Costs costs_of(const std::vector<candidate::Event>& events) {
  std::map<candidate::Decision, int> candidates;
  for (const auto& event : events) {
    const auto* proposed = std::get_if<candidate::Proposed>(&event.body);
    if (proposed == nullptr) continue;
    // In runs of older versions decisions have the numbers of their candidates.
    const int number = proposed->candidate.number;
    candidates[proposed->decision < 0 ? number : proposed->decision] = number;
  }
  Costs costs;
  for (const auto& event : events) {
    if (const auto* reserved = std::get_if<candidate::Reserved>(&event.body))
      costs.open[reserved->question] = reserved->tokens;
    const auto* exchanged = std::get_if<candidate::Exchanged>(&event.body);
    if (exchanged == nullptr) continue;
    const Exchange& exchange = exchanged->exchange;
    const auto asked = fmt::format("{}:{}", exchange.provider, exchange.model);
    const auto made = candidates.find(exchanged->decision);
    costs.open.erase(exchange.question);
    costs.all.add(exchange);
    costs.by_model[exchange.answered_by.empty() ? asked : exchange.answered_by].add(exchange);
    costs.by_role[exchange.role].add(exchange);
    costs.by_candidate[made == candidates.end() ? -1 : made->second].add(exchange);
  }
  return costs;
}

}  // namespace cuco::report
