// SPDX-License-Identifier: Apache-2.0
#include "search/policy.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::search {
namespace {

/// Neither learns from what it has seen: what is left is the proposers' own merit.
Policy baseline(std::string name, ParentRule parents) {
  Policy policy{.name = std::move(name), .parents = parents};
  policy.bandit = policy.plans = policy.repair = policy.inspirations = policy.forecast = false;
  policy.draws = true;
  policy.islands = 1;
  return policy;
}

Policy with_parents(std::string name, ParentRule parents) {
  return Policy{.name = std::move(name), .parents = parents};
}

/// Not to find anything: recorded runs that policies are compared on.
Policy survey() {
  Policy policy = baseline("survey", ParentRule::Random);
  policy.survey = true;
  return policy;
}

std::vector<Policy> all_policies() {
  return {Policy{},
          with_parents("greedy", ParentRule::Best),
          with_parents("power-law", ParentRule::PowerLaw),
          baseline("random", ParentRule::Random),
          baseline("best-of-n", ParentRule::Start),
          survey()};
}

constexpr auto kParts = std::to_array<std::pair<std::string_view, bool Policy::*>>({
    {"no-enumerate", &Policy::enumerate},
    {"no-bandit", &Policy::bandit},
    {"no-plans", &Policy::plans},
    {"no-repair", &Policy::repair},
    {"no-forecast", &Policy::forecast},
    {"no-inspirations", &Policy::inspirations},
});

Error unknown(std::string_view word) {
  std::vector<std::string> known = policy_names();
  for (const auto& [part, member] : kParts)
    known.emplace_back(part);
  const auto near = nearest(word, known);
  return {ErrorKind::InvalidInput,
          fmt::format("unknown policy '{}'{}; use one of {}, and switch parts off with {}", word,
                      near ? fmt::format(" (did you mean '{}'?)", *near) : "",
                      join(policy_names(), ", "), "no-bandit, no-plans, …")};
}

}  // namespace

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Policy& policy : all_policies())
    names.push_back(policy.name);
  return names;
}

Result<Policy> parse_policy(std::string_view text) {
  const auto words = split(text, ',');
  Policy policy;
  bool named = false;
  for (const Policy& known : all_policies()) {
    if (known.name != trim(words.front())) continue;
    policy = known;
    named = true;
  }
  if (!named) return unknown(trim(words.front()));
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto word = trim(words[i]);
    bool found = false;
    for (const auto& [part, member] : kParts) {
      if (part != word) continue;
      policy.*member = false;
      found = true;
    }
    if (!found) return unknown(word);
  }
  policy.name = std::string(trim(text));
  return policy;
}

}  // namespace cuco::search
