// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/journey.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/analyse.h"
#include "analysis/walk/unfollowed.h"
#include "base/counted.h"
#include "base/text.h"
#include "cli/journey/fast_path.h"
#include "cli/journey/journey_view.h"
#include "cli/journey/learned.h"
#include "cli/journey/proposers.h"
#include "cli/live/live_run.h"
#include "cli/live/watched_evaluator.h"
#include "cli/models/tuning_team.h"
#include "cli/terminal/interrupt.h"
#include "expert/expert.h"
#include "report/export.h"
#include "report/progress.h"
#include "search/search.h"
#include "store/sqlite_store.h"
#include "system/os/system_clock.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::cli {
namespace {
using candidate::kSeed;
using candidate::Run;

constexpr int kLabelWidth = 16;

/// The run itself knows neither terminal nor signals: both reach it through these hooks.
candidate::RunSettings settings(Context& context, const JourneyOptions& options, LiveRun* live) {
  candidate::RunSettings made{.seed = options.seed, .jobs = options.jobs, .window = options.window};
  const ModelOptions& models = options.models;
  if (models.call_budget > 0) made.exchanges.calls = models.call_budget;
  if (models.token_budget > 0) made.exchanges.tokens = models.token_budget;
  if (models.dollar_budget > 0) made.exchanges.dollars = models.dollar_budget;
  made.stop_requested = [] { return InterruptScope::requested(); };
  made.observer = [&context, live](const candidate::Event& event,
                                   const candidate::RunState& state) {
    if (live != nullptr) live->apply(event);
    show_event(context, event, state, live != nullptr);
  };
  return made;
}

/// What the live view says of the run itself.
SearchView about(const JourneyOptions& options,
                 const store::RunFolder& folder,
                 const Subject& subject,
                 const candidate::Target& target) {
  SearchView view;
  view.name = subject.name;
  view.machine = target.hardware + ", " + target.topology;
  view.run = folder.name;
  view.candidates = options.rounds > 0 ? 0 : options.candidates;
  view.rounds = options.rounds;
  view.seconds = options.budget_seconds;
  return view;
}

/// The seed is candidate 0 and has to be correct: everything is compared with it.
Result<void> judge_seed(Run& run, const Subject& subject) {
  candidate::Proposal seed{.source = program::single_file("program.cu", subject.program)};
  seed.lineage.proposer = "seed";
  seed.lineage.because = "the original program";
  CUCO_TRY(run.add_candidate(std::move(seed)));
  CUCO_TRY_ASSIGN(
      const candidate::Outcome outcome,
      run.evaluate(kSeed, {run.evaluator().target().kind, candidate::Fidelity::Standard}));
  if (std::holds_alternative<candidate::Scored>(outcome)) return {};
  return Error{ErrorKind::InvalidInput,
               fmt::format("the seed itself was rejected: {}", candidate::explanation(outcome))};
}

/// The program that the user wants to go on from is candidate 1, whatever its verdict is.
Result<void> judge_start(Run& run, const std::string& file, search::SearchOptions* race) {
  CUCO_TRY_ASSIGN(std::string text, system::read_file(file));
  candidate::Proposal start{.source = program::single_file("program.cu", std::move(text))};
  start.lineage.proposer = "user";
  start.lineage.parent = kSeed;
  start.lineage.because = "the program to go on from";
  CUCO_TRY_ASSIGN(race->start, run.add_candidate(std::move(start)));
  const candidate::Rung rung{run.evaluator().target().kind, candidate::Fidelity::Quick};
  CUCO_TRY_ASSIGN(const candidate::Outcome outcome, run.evaluate(race->start, rung));
  if (!std::holds_alternative<candidate::Scored>(outcome)) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} was rejected: {}", file, candidate::explanation(outcome))};
  }
  CUCO_TRY_ASSIGN(const bool faster, run.is_faster(race->start, kSeed, rung));
  if (!faster) return {};
  race->incumbent = race->start;
  return run.set_best(race->start);
}

/// What the links carried between the GPUs in the seed's timed runs; 0: nothing, or nobody looked.
double carried_by_seed(Run& run) {
  const candidate::Scored* seed = run.entry(kSeed).scored();
  double bytes = 0;
  for (const auto& shape : seed == nullptr ? std::vector<candidate::ShapeTime>() : seed->shapes)
    bytes = std::max(bytes, shape.wire_bytes);
  return run.evaluator().target().facts.ranks > 1 ? bytes : 0;
}

/// Why the graph cannot be all that communicates; empty: nothing speaks against it.
std::string missed_communication(const analysis::CommunicationGraph& graph, double carried) {
  if (const auto missed = analysis::unfollowed(graph); !missed.empty()) {
    return fmt::format(
        "missed {}: called through a pointer, a table or a library, which the "
        "analysis does not follow",
        analysis::names_of(missed));
  }
  if (graph.collectives.empty() && carried > 0 && !analysis::has_other_traffic(graph)) {
    return fmt::format("missed what the seed sends: its GPUs exchanged {} in a run",
                       human_bytes(carried));
  }
  return "";
}

/// A step of the journey, so its result is recorded and shown even if nothing follows from it.
Result<analysis::CommunicationGraph> analyse_seed(Run& run,
                                                  const Subject& subject,
                                                  const ReadText& read) {
  CUCO_TRY_ASSIGN(auto graph, read(subject.program));
  std::vector<std::string> found;
  for (const auto& collective : graph.collectives) {
    found.push_back(fmt::format("{} (line {})", collective.name, collective.span.line));
  }
  const std::string missed = missed_communication(graph, carried_by_seed(run));
  const std::string doubt =
      graph.problems.empty() ? missed : fmt::format("line {}", graph.problems.front());
  std::string text = fmt::format(
      "{}{}, {}", doubt.empty() ? "" : doubt + "; ", counted(graph.kernels.size(), "kernel"),
      graph.launches.size() == 1 ? "1 launch" : fmt::format("{} launches", graph.launches.size()));
  if (!found.empty()) text += ", " + join(found, ", ");
  // Not of one whose communication was missed: it has some.
  if (found.empty() && doubt.empty()) text += ", no collective";
  CUCO_TRY(run.record_step({"analyse", doubt.empty(), text}));
  return graph;
}

/// Why the expert has nothing, or less than one would expect; the full list only with --verbose.
void show_discarded(Context& context, const ProposerSet& proposers) {
  if (proposers.expert == nullptr) return;
  const expert::Ideas& ideas = proposers.expert->ideas();
  if (ideas.ideas.empty() && !ideas.discarded.empty()) {
    show_line(context,
              {"expert", fmt::format("has no design for this program: {}; list all reasons with "
                                     "--verbose, or add a proposer with --model",
                                     ideas.discarded.front().reason)});
  }
  for (const auto& discarded : ideas.discarded) {
    context.terminal.detail("{:<{}}not tried: {}: {}", "expert", kLabelWidth, discarded.design,
                            discarded.reason);
  }
}

/// Fast path, or the program to go on from, then the slow path.
Result<search::SearchResult> search_program(Run& run,
                                            const JourneyOptions& options,
                                            const Situation& situation,
                                            const ProposerSet& proposers,
                                            std::vector<std::string> notes) {
  search::SearchOptions race;
  race.budget.candidates = options.candidates;
  race.budget.planned = options.planned;
  if (options.budget_seconds > 0) race.budget.wall_seconds = options.budget_seconds;
  CUCO_TRY_ASSIGN(race.policy, search::parse_policy(options.policy));
  race.background.notes = std::move(notes);
  race.background.prior = situation.expected;
  race.background.is_valid = [&](const design::Directive& directive) {
    return design::violations(directive, analysis::program_facts(situation.graph),
                              situation.target.facts, situation.nccl)
        .empty();
  };
  if (!options.start.empty()) {
    CUCO_TRY(judge_start(run, options.start, &race));
  } else if (options.fast_path) {
    CUCO_TRY(walk_fast_path(run, situation, proposers, &race));
  }

  const auto askable = proposers.pointers();
  return search::search(run, askable, race);
}

void show_target(Context& context,
                 const JourneyOptions& options,
                 const Subject& subject,
                 const candidate::Target& target) {
  show_line(context, {subject.name, fmt::format("{} · {}", counted(target.facts.ranks, "rank"),
                                                subject.summary)});
  show_line(context,
            {"target",
             fmt::format("{}, {}, {}{}   seed {}", target.name, target.hardware, target.topology,
                         target.predicted() ? " (times are predicted)" : "", options.seed)});
}

void show_bound(Context& context, const candidate::Scored& seed) {
  if (seed.bound_seconds <= 0) return;
  std::vector<std::string> shapes;
  for (const auto& shape : seed.shapes)
    shapes.push_back(fmt::format("{} {}", shape.shape, human_seconds(shape.seconds)));
  // Candidates are tried on the first shape before they are timed on all.
  const std::string parts =
      shapes.size() > 1 ? fmt::format(": the mean of {}", join(shapes, ", ")) : std::string();
  show_line(context, {"bound", fmt::format("{} (speed of light)   seed program correct, {}{}",
                                           human_seconds(seed.bound_seconds),
                                           report::time_text(seed), parts)});
}

}  // namespace

Result<void> write_candidate(const candidate::RunState& state,
                             candidate::Number number,
                             std::string_view run,
                             const system::Path& folder) {
  CUCO_TRY_ASSIGN(const system::Path include, system::find_data("include"));
  CUCO_TRY_ASSIGN(const std::string header, system::read_file(include / "cuco/workload.h"));
  return write_files(report::export_folder(state, number, run, header), folder);
}

Result<void> write_files(const std::vector<program::File>& files, const system::Path& folder) {
  for (const auto& file : files) {
    const auto path = folder / file.path;
    CUCO_TRY(system::make_folder(path.parent_path()));
    CUCO_TRY(system::write_file(path, file.text));
  }
  return {};
}

// NOLINTNEXTLINE(readability-function-size): contents page
Result<ExitCode> travel(Context& context,
                        const JourneyOptions& options,
                        const store::RunFolder& folder,
                        const Subject& subject,
                        candidate::Evaluator& judge,
                        InFlight* table) {
  const bool is_live = !context.json && Painter::paints(context.terminal);
  // The live view answers Ctrl-C itself.
  const InterruptScope interrupts(
      is_live ? nullptr
              : "\ncuco: stopping after the current candidate; press Ctrl-C again to stop now\n");
  system::SystemClock clock;
  InFlight own_table(clock);
  if (table == nullptr) table = &own_table;
  WatchedEvaluator evaluator(judge, *table);
  context.resume_with = "cuco resume " + folder.name;
  CUCO_TRY_ASSIGN(const system::Fd lock, store::lock_run(folder));
  CUCO_TRY_ASSIGN(const auto store,
                  store::SqliteStore::open(folder.database(), store::OpenMode::ReadWrite, clock));
  const auto target = evaluator.target();
  std::optional<LiveRun> live;
  if (is_live) {
    live.emplace(context.terminal, about(options, folder, subject, target), *table, clock,
                 [] { return InterruptScope::requested(); });
    CUCO_TRY_ASSIGN(const auto events, store->events(0));
    live->recall(events);
  }
  CUCO_TRY_ASSIGN(Run run, Run::open(*store, evaluator, clock,
                                     settings(context, options, live ? &*live : nullptr)));
  show_target(context, options, subject, target);
  CUCO_TRY(run.start({.workload = options.workload,
                      .seed = options.seed,
                      .target = target.name,
                      .hardware = target.hardware,
                      .options = to_json(options),
                      .provenance = evaluator.provenance()}));

  CUCO_TRY(judge_seed(run, subject));
  show_bound(context, *run.entry(kSeed).scored());
  if (InterruptScope::requested()) return ExitCode::Interrupted;
  if (live) live->begin_step("reading the program, and watching it run");
  CUCO_TRY_ASSIGN(const auto toolkit, toolchain::find_cuda(system::Environment::current()));
  const system::Path& cuda = toolkit.root;
  CUCO_TRY_ASSIGN(const ReadText read, make_reader(subject, cuda));
  CUCO_TRY_ASSIGN(const analysis::CommunicationGraph graph, analyse_seed(run, subject, read));
  const design::NcclVersion nccl = installed_nccl(cuda);
  const auto own = expert::make_standalone_ideas(graph, subject.program, target.facts, nccl);
  Situation situation{subject, graph, own, target, nccl, cuda, read};
  situation.run = folder.name;
  const std::string kind = situation_of(graph, target);
  knowledge::Knowledge known;
  if (options.knowledge) {
    CUCO_TRY_ASSIGN(known, knowledge_of(folder, knowledge_file(folder)));
    situation.expected = [&](const design::Directive& directive) {
      const auto* lesson = known.find(kind, knowledge::move_of(directive));
      return lesson == nullptr ? 1.0 : lesson->expected();
    };
  }
  CUCO_TRY_ASSIGN(const ProposerSet proposers, make_proposers(options, situation, clock));
  if (InterruptScope::requested()) return ExitCode::Interrupted;
  show_discarded(context, proposers);
  if (live) live->begin_step({});
  CUCO_TRY_ASSIGN(const search::SearchResult result,
                  options.rounds > 0
                      ? tune_program(run, options, situation, proposers)
                      : search_program(run, options, situation, proposers, known.notes(kind)));
  if (InterruptScope::requested()) return ExitCode::Interrupted;
  if (const auto* winner = report::winner(run.state())) {
    CUCO_TRY(write_candidate(run.state(), winner->candidate.number, folder.name, folder.best()));
  }
  CUCO_TRY(run.finish(result.reason, result.repeatable));
  // The run is over and whole, whether others can learn from it or not.
  if (const auto learnt = learn_run(knowledge_file(folder), clock, kind, run.state(), folder);
      !learnt)
    context.terminal.note("cuco: note: nothing learnt: {}", learnt.error().message());
  live.reset();
  return show_closing(context, run.state(), folder);
}

}  // namespace cuco::cli
