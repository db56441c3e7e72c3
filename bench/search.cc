// SPDX-License-Identifier: Apache-2.0
// Framework time of a search: what one candidate costs beside asking and judging, at the end of
// runs of several lengths. Select, novelty, durable append, everything; the proposer and the judge
// answer at once.
//
//   bench_search [CANDIDATES [BYTES [FOLDER]]]   (default: 5000 with sources of 10000 bytes, in
//   /tmp)
#include "search/search.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>

#include "base/rng.h"
#include "store/sqlite_store.h"
#include "system/os/files.h"
#include "system/os/system_clock.h"

namespace cuco {
namespace {

/// Another program each time, now and then one of another design, now and then a wrong one.
class Writer final : public candidate::Proposer {
 public:
  explicit Writer(std::size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] std::string name() const override { return "writer"; }
  Result<std::optional<candidate::ProposerAnswer>> propose(const candidate::Task& task,
                                                           candidate::ExchangeLog&) override {
    std::string text = fmt::format("int x{} = {};\n", task.seed, task.seed % 1000);
    while (text.size() < bytes_)
      text += "__global__ void kernel(float* out, const float* in) { out[0] += in[0]; }\n";
    candidate::Proposal made{.source = program::single_file("program.cu", std::move(text))};
    made.directive = task.history[task.parent].candidate.directive;
    if (task.operation == candidate::Operation::Rewrite) {
      made.directive.backend = static_cast<design::Backend>(task.seed % 4);
      made.directive.issuer.count = static_cast<int>(task.seed % 64);
    }
    made.lineage = {.proposer = name(), .parent = task.parent};
    return std::optional(candidate::ProposerAnswer(std::move(made)));
  }

 private:
  std::size_t bytes_;
};

class Instant final : public candidate::Evaluator {
 public:
  [[nodiscard]] candidate::Target target() const override { return {.hardware = "none"}; }
  [[nodiscard]] candidate::Provenance provenance() const override { return {}; }
  Result<candidate::Outcome> evaluate(const candidate::Candidate& candidate,
                                      candidate::Rung) override {
    const auto number = static_cast<std::uint64_t>(candidate.number);
    if (number % 7 == 3) return candidate::Outcome(candidate::BuildFailed{"expected a ';'"});
    const double seconds = 1e-3 * (0.5 + Rng(number).uniform());
    return candidate::Outcome(
        candidate::Scored{.seconds = number == 0 ? 1e-3 : seconds, .baseline_seconds = 1e-3});
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> measure(int candidates, std::size_t bytes, const std::string& in) {
  CUCO_TRY_ASSIGN(const auto folder, system::TempFolder::create("cuco_bench_search", in));
  const system::SystemClock clock;
  CUCO_TRY_ASSIGN(const auto store, store::SqliteStore::open(folder.path() / "events.db",
                                                             store::OpenMode::ReadWrite, clock));
  Instant evaluator;
  Writer writer(bytes);
  // The last tenth is what a candidate costs when so many are there.
  std::chrono::steady_clock::time_point late;
  std::clock_t late_cpu = 0;
  int late_from = candidates;
  candidate::RunSettings settings{.seed = 1, .jobs = 1, .window = 4};
  settings.observer = [&](const candidate::Event&, const candidate::RunState& state) {
    const int have = static_cast<int>(state.entries.size());
    if (late_from < candidates || have < candidates * 9 / 10) return;
    late_from = have;
    late = std::chrono::steady_clock::now();
    late_cpu = std::clock();
  };
  CUCO_TRY_ASSIGN(auto run, candidate::Run::open(*store, evaluator, clock, settings));
  CUCO_TRY(run.add_candidate({.source = program::single_file("program.cu", "seed")}));
  CUCO_TRY(run.evaluate(candidate::kSeed, candidate::Rung{}));
  candidate::Proposer* const proposers[] = {&writer};
  search::SearchOptions options;
  options.budget.candidates = candidates;
  CUCO_TRY(search::search(run, proposers, options));
  const int last = candidates - late_from;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  fmt::print(
      "{} candidates of {} bytes: {:.2f} ms wall, {:.2f} ms processor time a candidate in "
      "the last {}; {:.0f} MB at most\n",
      candidates, bytes, 1e3 * seconds_since(late) / last,
      1e3 * static_cast<double>(std::clock() - late_cpu) / CLOCKS_PER_SEC / last, last,
      static_cast<double>(used.ru_maxrss) / 1024);
  return {};
}

}  // namespace
}  // namespace cuco

int main(int argc, char** argv) {
  const int candidates = argc > 1 ? std::atoi(argv[1]) : 5000;
  const int bytes = argc > 2 ? std::atoi(argv[2]) : 10'000;
  const auto done =
      cuco::measure(candidates, static_cast<std::size_t>(bytes), argc > 3 ? argv[3] : "");
  if (done) return 0;
  fmt::print(stderr, "bench_search: {}\n", done.error().message());
  return 1;
}
