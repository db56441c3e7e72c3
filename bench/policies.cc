// SPDX-License-Identifier: Apache-2.0
// Policies on the same budget: medians over seeds on synthetic landscapes of several kinds, and
// what each part of the search adds. For recorded runs there is `cuco replay`.
//
// In a list all designs are of one proposer that enumerates them.
//
//   bench_policies [CANDIDATES [SEEDS [LANDSCAPES [POLICY…]]]]   (default: 30, 10, 5, all)
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "../tests/fakes/synthetic_run.h"
#include "search/landscape/simulation.h"
#include "store/memory_store.h"

namespace cuco {
namespace {

struct Kind {
  std::string name;
  fakes::SyntheticRun run;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll = {
      {"parts add up", {}},
      {"parts interact", {.together = 0.15}},
      {"full shapes differ", {.together = 0.05, .full_differs = 0.15}},
      {"regions differ", {.together = 0.05, .full_differs = 0.05, .regions_differ = 0.5}},
      {"half of it fails", {.together = 0.05, .failing = 0.5}},
      {"a list", {.together = 0.05, .full_differs = 0.05, .listed = true}},
  };
  return kAll;
}

Result<double> median(const search::Landscape& landscape,
                      const search::Policy& policy,
                      int candidates,
                      int seeds) {
  const ManualClock clock;
  std::vector<double> list;
  for (int seed = 1; seed <= seeds; ++seed) {
    store::MemoryStore store(clock);
    CUCO_TRY_ASSIGN(
        const auto made,
        search::simulate(landscape, policy, static_cast<std::uint64_t>(seed), candidates, store));
    list.push_back(made.speedup);
  }
  return search::median_of(list);
}

Result<void> compare(int candidates,
                     int seeds,
                     int landscapes,
                     const std::vector<std::string>& names) {
  for (const Kind& kind : kinds()) {
    fmt::print("{}: {} candidates, {} seeds, medians on {} landscapes, of the best there is\n",
               kind.name, candidates, seeds, landscapes);
    for (const std::string& name : names) {
      CUCO_TRY_ASSIGN(const search::Policy policy, search::parse_policy(name));
      double sum = 0;
      std::string each;
      for (int i = 1; i <= landscapes; ++i) {
        fakes::SyntheticRun run = kind.run;
        run.kind = static_cast<std::uint64_t>(i);
        search::Landscape landscape;
        CUCO_TRY(landscape.add(fakes::synthetic_run(run)));
        CUCO_TRY_ASSIGN(const double found, median(landscape, policy, candidates, seeds));
        const double share = found / landscape.best();
        sum += share;
        each += fmt::format(" {:.3f}", share);
      }
      fmt::print("  {:<24}{:.3f}  {}\n", name, sum / landscapes, each);
    }
  }
  return {};
}

}  // namespace
}  // namespace cuco

int main(int argc, char** argv) {
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  std::vector<std::string> names(argv + std::min(argc, 4), argv + argc);
  if (names.empty()) {
    names = {"search",
             "random",
             "best-of-n",
             "greedy",
             "search,no-forecast",
             "search,no-plans",
             "search,no-bandit",
             "search,no-repair",
             "search,no-inspirations"};
  }
  const auto done = cuco::compare(number(1, 30), number(2, 10), number(3, 5), names);
  if (done) return 0;
  fmt::print(stderr, "bench_policies: {}\n", done.error().message());
  return 1;
}
