// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/proposers.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "agents/model_proposer.h"
#include "base/text.h"
#include "expert/forward/forward_ideas.h"
#include "expert/lanes/lane_ideas.h"
#include "llm/command_provider.h"
#include "llm/endpoint_provider.h"
#include "llm/exchange_recording.h"
#include "system/os/environment.h"

namespace cuco::cli {
namespace {

constexpr std::string_view kCommand = "command:";
constexpr auto kDeadline = std::chrono::seconds(300);

Result<std::unique_ptr<llm::Provider>> make_endpoint(const JourneyOptions& options, Clock& clock) {
  llm::Endpoint endpoint;
  if (!options.endpoint.empty()) endpoint.url = options.endpoint;
  endpoint.model = options.model;
  if (endpoint.model.empty()) {
    return Error{ErrorKind::InvalidInput,
                 "no model given: use --model NAME, or set llm.model in cuco.toml"};
  }
  endpoint.key = system::Environment::current().get(options.key_variable).value_or("");
  if (endpoint.key.empty() && !options.key_file.empty()) {
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(options.key_file, 4096));
    endpoint.key = std::string(trim(text));
  }
  // A local endpoint may need no key; the default one does.
  if (endpoint.key.empty() && options.endpoint.empty()) {
    return Error{
        ErrorKind::Unavailable,
        fmt::format("provider 'openai' has no key: set {}, or use --proposer expert (needs "
                    "none)",
                    options.key_variable)};
  }
  return std::unique_ptr<llm::Provider>(
      std::make_unique<llm::EndpointProvider>(std::move(endpoint), llm::RetryPolicy{}, clock));
}

/// A replay stands in for whatever was recorded; a recording wraps whatever answers.
Result<std::unique_ptr<llm::Provider>> make_provider(const std::string& proposer,
                                                     const JourneyOptions& options,
                                                     Clock& clock) {
  if (!options.replay.empty()) {
    CUCO_TRY_ASSIGN(auto replay, llm::ReplayProvider::open(options.replay));
    return std::unique_ptr<llm::Provider>(std::move(replay));
  }
  std::unique_ptr<llm::Provider> provider;
  if (proposer.starts_with(kCommand)) {
    provider = std::make_unique<llm::CommandProvider>(proposer.substr(kCommand.size()));
  } else if (proposer == "model") {
    CUCO_TRY_ASSIGN(provider, make_endpoint(options, clock));
  } else {
    const std::vector<std::string> known = {"expert", "model", "command:PROGRAM"};
    const auto near = nearest(proposer, known);
    return Error{ErrorKind::InvalidInput,
                 fmt::format("unknown proposer '{}'{}; use expert, model or command:PROGRAM",
                             proposer, near ? fmt::format(" (did you mean '{}'?)", *near) : "")};
  }
  if (options.record.empty()) return provider;
  return std::unique_ptr<llm::Provider>(
      std::make_unique<llm::RecordingProvider>(std::move(provider), options.record));
}

Result<agents::Problem> describe_problem(const Situation& situation) {
  agents::Problem problem;
  problem.summary = fmt::format("{}: {}", situation.subject.name, situation.subject.summary);
  problem.target =
      fmt::format("It runs on {} ranks: {}, topology {}.", situation.target.facts.ranks,
                  situation.target.hardware, situation.target.topology);
  problem.analysis = analysis::to_text(situation.graph);
  problem.program = analysis::program_facts(situation.graph);
  problem.topology = situation.target.facts;
  problem.nccl = situation.nccl;
  std::vector<std::string> headers;
  for (const auto& name : agents::api_headers()) {
    CUCO_TRY_ASSIGN(std::string text, system::read_file(situation.cuda / "include" / name));
    headers.push_back(std::move(text));
  }
  problem.api = agents::cut_api(headers);
  return problem;
}

/// What overlaps by itself, for workloads that come split.
void add_lane_ideas(const Situation& situation, expert::Ideas& ideas) {
  auto lanes =
      expert::lanes::make_lane_ideas(situation.graph, situation.subject.program,
                                     situation.target.facts, situation.nccl, situation.read);
  ideas.ideas.insert(ideas.ideas.end(), lanes.ideas.begin(), lanes.ideas.end());
  ideas.discarded.insert(ideas.discarded.end(), lanes.discarded.begin(), lanes.discarded.end());
}

/// What fits this program alone comes first, then its versions with own collectives.
expert::Ideas all_ideas(const Situation& situation) {
  const std::string& text = situation.subject.program;
  expert::Ideas ideas =
      expert::make_ideas(situation.graph, text, situation.target.facts, situation.nccl);
  auto forwarded = expert::forward::make_forward_ideas(
      situation.graph, text, situation.target.facts, situation.nccl, situation.read);
  std::ranges::move(forwarded.ideas, std::back_inserter(ideas.ideas));
  std::ranges::move(forwarded.discarded, std::back_inserter(ideas.discarded));
  const expert::StandaloneIdeas& own = situation.own;
  ideas.discarded.insert(ideas.discarded.end(), own.discarded.begin(), own.discarded.end());
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

}  // namespace

std::vector<candidate::Proposer*> ProposerSet::pointers() const {
  std::vector<candidate::Proposer*> list;
  for (const auto& proposer : proposers)
    list.push_back(proposer.get());
  return list;
}

Result<ProposerSet> make_proposers(const JourneyOptions& options,
                                   const Situation& situation,
                                   Clock& clock) {
  ProposerSet set;
  for (const auto& name : options.proposers) {
    if (name == "expert") {
      auto expert = std::make_unique<expert::Expert>(all_ideas(situation), "program.cu");
      set.expert = expert.get();
      set.proposers.push_back(std::move(expert));
      continue;
    }
    CUCO_TRY_ASSIGN(auto provider, make_provider(name, options, clock));
    CUCO_TRY_ASSIGN(agents::Problem problem, describe_problem(situation));
    set.proposers.push_back(std::make_unique<agents::ModelProposer>(*provider, std::move(problem),
                                                                    "program.cu", kDeadline));
    set.providers.push_back(std::move(provider));
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
