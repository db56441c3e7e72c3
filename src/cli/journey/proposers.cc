// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/proposers.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include "agents/api.h"
#include "analysis/analyse.h"
#include "base/text.h"
#include "cli/journey/traced_program.h"
#include "cli/models/model_providers.h"
#include "cli/models/problem_text.h"
#include "cli/models/recordings.h"
#include "cli/terminal/interrupt.h"
#include "expert/chunks/chunk_ideas.h"
#include "expert/forward/forward_ideas.h"
#include "expert/lanes/lane_ideas.h"
#include "fabric/topology.h"
#include "hardware/gpu_description.h"
#include "search/tune/knob_tuner.h"
#include "targets/virtual/machine_files.h"

namespace cuco::cli {
namespace {

/// What overlaps by itself, for workloads that come split.
void add_lane_ideas(const Situation& situation, expert::Ideas& ideas) {
  auto lanes =
      expert::lanes::make_lane_ideas(situation.graph, situation.subject.program,
                                     situation.target.facts, situation.nccl, situation.read);
  ideas.ideas.insert(ideas.ideas.end(), lanes.ideas.begin(), lanes.ideas.end());
  ideas.discarded.insert(ideas.discarded.end(), lanes.discarded.begin(), lanes.discarded.end());
}

/// What runs of the seed show of its blocks.
Result<Observations> observe_seed(const JourneyOptions& options, const Situation& situation) {
  return observe({.program = options.workload,
                  .ranks = options.ranks,
                  .includes = options.includes,
                  .flags = options.flags,
                  .arguments = options.args,
                  .progress = [](std::string_view) {}},
                 situation.graph);
}

/// The seed is run only where that could show what these designs need.
void add_chunk_ideas(const JourneyOptions& options,
                     const Situation& situation,
                     expert::Ideas& ideas) {
  if (!expert::chunks::has_gather_to_chunk(situation.graph)) return;
  const auto seen = observe_seed(options, situation);
  if (!seen) {
    ideas.discarded.push_back({"chunks from the producers", seen.error().message()});
    return;
  }
  auto chunked =
      expert::chunks::make_chunk_ideas(situation.graph, seen->maps, situation.subject.program,
                                       situation.target.facts, situation.nccl, situation.read);
  std::ranges::move(chunked.ideas, std::back_inserter(ideas.ideas));
  std::ranges::move(chunked.discarded, std::back_inserter(ideas.discarded));
}

/// What fits this program alone comes first, then its versions with own collectives. Incomplete
/// after Ctrl-C: nothing is proposed any more.
expert::Ideas all_ideas(const JourneyOptions& options, const Situation& situation) {
  const std::string& text = situation.subject.program;
  expert::Ideas ideas = expert::make_ideas(situation.graph, text);
  add_chunk_ideas(options, situation, ideas);
  if (InterruptScope::requested()) return ideas;
  auto forwarded = expert::forward::make_forward_ideas(situation.graph, text,
                                                       situation.target.facts, situation.nccl);
  std::ranges::move(forwarded.ideas, std::back_inserter(ideas.ideas));
  std::ranges::move(forwarded.discarded, std::back_inserter(ideas.discarded));
  const expert::StandaloneIdeas& own = situation.own;
  ideas.discarded.insert(ideas.discarded.end(), own.discarded.begin(), own.discarded.end());
  if (InterruptScope::requested()) return ideas;
  if (!own.fast_path) {
    add_lane_ideas(situation, ideas);
    return ideas;
  }
  const auto& versions = own.fast_path->replacements;
  auto replayed =
      expert::replayed_by_graph(situation.graph, text, versions.front(), situation.read);
  if (replayed) {
    ideas.ideas.push_back(*std::move(replayed));
  } else {
    ideas.discarded.push_back({"own collectives in a CUDA graph", replayed.error().message()});
  }
  add_lane_ideas(situation, ideas);
  ideas.ideas.insert(ideas.ideas.end(), versions.begin(), versions.end());
  return ideas;
}

/// What earlier runs let expect most comes first; what they say nothing about stays in order.
void sort_by_expectation(const Situation& situation, std::vector<expert::Idea>* ideas) {
  if (!situation.expected) return;
  std::stable_sort(ideas->begin(), ideas->end(), [&](const auto& a, const auto& b) {
    return situation.expected(a.directive) > situation.expected(b.directive);
  });
}

/// A model does without where the seed does not run: the judge will say so.
std::string observed_blocks(const JourneyOptions& options, const Situation& situation) {
  const auto observed = observe_seed(options, situation);
  if (!observed || observed->maps.empty()) return {};
  return analysis::to_text(std::span<const analysis::ObservedMap>(observed->maps));
}

/// The machine that is judged on, or that virtual times are predicted for.
Result<std::string> machine_text(const Situation& situation) {
  const candidate::Target& target = situation.target;
  const auto file = targets::find_topology(target.topology);
  if (!file) {  // a real GPU
    return fmt::format("It runs on {} ranks: {}, topology {}.", target.facts.ranks, target.hardware,
                       target.topology);
  }
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(*file));
  CUCO_TRY_ASSIGN(const fabric::Topology topology, fabric::parse_topology(text, file->string()));
  CUCO_TRY_ASSIGN(const system::Path hardware, targets::find_hardware(topology.gpu));
  CUCO_TRY_ASSIGN(const std::string gpu_file, system::read_file(hardware));
  CUCO_TRY_ASSIGN(const auto gpu, hardware::parse_gpu_description(gpu_file, hardware.string()));
  return target_text(topology, gpu, target.facts.ranks, target.predicted());
}

/// Prompts that a workload brings along: PROMPTS/ROLE.md.
Result<std::map<std::string, std::string, std::less<>>> own_templates(const system::Path& folder) {
  std::map<std::string, std::string, std::less<>> made;
  for (const agents::Role& role : agents::all_roles()) {
    const auto file = folder / fmt::format("{}.md", role.name);
    std::error_code code;
    if (!std::filesystem::exists(file, code)) continue;
    CUCO_TRY_ASSIGN(std::string text, system::read_file(file));
    if (const auto checked = agents::check_template(text); !checked) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{}: {}", file.string(), checked.error().message())};
    }
    made.emplace(role.name, std::move(text));
  }
  return made;
}

}  // namespace

agents::ModelCall model_call(const JourneyOptions& options) {
  agents::ModelCall call;
  call.deadline = std::chrono::seconds(static_cast<std::int64_t>(options.models.deadline_seconds));
  call.max_tokens = options.models.max_tokens;
  call.effort = [models = options.models](std::string_view role) {
    return effort_of(models, role);
  };
  call.run_seed = options.seed;
  call.in_flight = options.window;  // what the service allows, its gate says
  call.stopped = [] { return InterruptScope::requested(); };
  return call;
}

Result<agents::Problem> describe_problem(const JourneyOptions& options,
                                         const Situation& situation) {
  const Subject& subject = situation.subject;
  agents::Problem problem;
  problem.summary = fmt::format("{}: {}", subject.name, subject.summary);
  CUCO_TRY_ASSIGN(problem.target, machine_text(situation));
  problem.analysis = analysis::to_text(situation.graph);
  problem.blocks = observed_blocks(options, situation);
  problem.program = analysis::program_facts(situation.graph);
  problem.topology = situation.target.facts;
  problem.nccl = situation.nccl;
  problem.most_tokens = options.models.prompt_tokens;
  const auto read = [&](const std::string& name) {
    return system::read_file(situation.cuda / "include" / name);
  };
  CUCO_TRY_ASSIGN(problem.api,
                  agents::device_api(problem.program, problem.topology, problem.nccl, read));
  if (subject.workload == nullptr) {
    problem.contract =
        "A program with main(): it is built and run as it is, and what it copies back to the host "
        "is compared with what the seed copies back.";
    return problem;
  }
  CUCO_TRY_ASSIGN(const system::Path include, system::find_data("include"));
  CUCO_TRY_ASSIGN(const std::string header, system::read_file(include / "cuco/workload.h"));
  problem.contract = contract_text(*subject.workload, header);
  CUCO_TRY_ASSIGN(problem.templates, own_templates(subject.workload->folder / "prompts"));
  return problem;
}

Result<ReadText> make_reader(const Subject& subject, const system::Path& cuda) {
  CUCO_TRY_ASSIGN(const system::Path include, system::find_data("include"));
  analysis::AnalysisOptions options{cuda, subject.includes, subject.flags};
  options.include_paths.push_back(include);
  return ReadText([options](const std::string& text) {
    return analysis::analyse("program.cu", text, options);
  });
}

std::vector<candidate::Proposer*> ProposerSet::pointers() const {
  std::vector<candidate::Proposer*> list;
  for (const auto& proposer : proposers)
    list.push_back(proposer.get());
  return list;
}

Result<void> check_proposers(const JourneyOptions& options, Clock& clock) {
  llm::Gates gates(clock);
  for (const auto& name : options.proposers) {
    if (name == "expert" || name == "tuner") continue;  // They need nothing.
    CUCO_TRY(make_recorded(name, options.models, {options.record, options.replay}, gates, clock));
  }
  return {};
}

Result<ProposerSet> make_proposers(const JourneyOptions& options,
                                   const Situation& situation,
                                   Clock& clock) {
  ProposerSet set;
  llm::Gates gates(clock);
  for (const auto& name : options.proposers) {
    if (name == "expert") {
      expert::Ideas ideas = all_ideas(options, situation);
      ideas.ideas = expert::by_turns(std::move(ideas.ideas));
      sort_by_expectation(situation, &ideas.ideas);
      auto expert = std::make_unique<expert::Expert>(std::move(ideas), "program.cu");
      set.expert = expert.get();
      set.proposers.push_back(std::move(expert));
      continue;
    }
    if (name == "tuner") {
      set.proposers.push_back(std::make_unique<search::KnobTuner>());
      continue;
    }
    CUCO_TRY_ASSIGN(auto provider, make_recorded(name, options.models,
                                                 {options.record, options.replay}, gates, clock));
    CUCO_TRY_ASSIGN(agents::Problem problem, describe_problem(options, situation));
    agents::ModelCall call = model_call(options);
    call.run = situation.run;
    if (options.models.dollar_budget > 0 && name == "model") {
      CUCO_TRY_ASSIGN(call.dollars_per_token, dollars_per_token(options.models));
    }
    set.questioners.push_back(
        std::make_unique<agents::Questioner>(*provider, std::move(problem), std::move(call)));
    set.providers.push_back(std::move(provider));
    set.proposers.push_back(
        std::make_unique<agents::ModelProposer>(*set.questioners.back(), "program.cu"));
  }
  return set;
}

design::NcclVersion installed_nccl(const system::Path& cuda) {
  design::NcclVersion version;
  const auto header = system::read_file(cuda / "include" / "nccl.h");
  constexpr std::string_view kMacro = "#define NCCL_VERSION_CODE ";
  const auto at = header ? header->find(kMacro) : std::string::npos;
  if (at == std::string::npos) return version;
  const auto digits = std::string_view(*header).substr(at + kMacro.size());
  int code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code);
  if (error == std::errc() && end != digits.data()) version.code = code;
  return version;
}

}  // namespace cuco::cli
