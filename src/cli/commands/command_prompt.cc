// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/analyse.h"
#include "base/json.h"
#include "cli/journey/program_reading.h"
#include "cli/journey/proposers.h"
#include "cli/models/model_providers.h"
#include "cli/terminal/command.h"
#include "system/os/environment.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::cli {
namespace {

/// Never asked: the proposer only makes the request.
class Nobody final : public llm::Provider {
 public:
  std::string name() const override { return "nobody"; }
  std::string model() const override { return "nobody"; }
  Result<llm::Reply> complete(const llm::Request&) override {
    return Error{ErrorKind::Unavailable, "nobody is asked here"};
  }
};

class PromptCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments
        .positional("ROLE", role_, "who is asked: propose, coder, planner …; a wrong one lists all")
        .completes(Completion::Nothing);
    arguments
        .positional("WORKLOAD", workload_,
                    "folder with workload.toml and program.cu, or a CUDA program with main()")
        .completes(Completion::File);
    arguments.option("--topology", topology_, "NAME", "another cluster than the workload's");
    arguments.option("--seed", seed_, "N", "seed of the search (default: search.seed)");
    arguments.option("--model", model_, "NAME", "NAME or SERVICE:NAME, for --body");
    arguments.flag("--body", body_, "print the HTTP body for that model instead");
    arguments.flag("--unjudged", unjudged_, "do not judge the seed first: quick, without verdict");
  }

  Result<ExitCode> run(Context& context) override {
    if (agents::find_role(role_) == nullptr) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("no role '{}'; there are: {}", role_, agents::role_names())};
    }
    workload_ = or_shipped(workload_);
    CUCO_TRY(check_exists(workload_));
    JourneyOptions options;
    options.workload = workload_.string();
    options.topology = topology_;
    options.seed =
        seed_.value_or(static_cast<std::uint64_t>(context.config.integer("search.seed")));
    options.proposers = {"model"};
    options.models = model_options(context.config);
    if (!model_.empty()) options.models.model = model_;
    return with_judge(options, [&](const Subject& subject, candidate::Evaluator& evaluator) {
      return show(context, options, subject, evaluator);
    });
  }

 private:
  Result<ExitCode> show(Context& context,
                        const JourneyOptions& options,
                        const Subject& subject,
                        candidate::Evaluator& evaluator) const {
    context.terminal.progress(unjudged_ ? "reading the program …" : "judging the seed …");
    auto made = first_request(options, subject, evaluator);
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const llm::Request request, std::move(made));
    if (body_) {
      CUCO_TRY_ASSIGN(const std::string text, body_text(request, options.models));
      context.terminal.write_file(text + "\n");
    } else if (context.json) {
      context.terminal.write_file(to_text(Json{{"role", role_},
                                               {"system", request.system},
                                               {"prompt", request.prompt},
                                               {"shared_prefix", request.shared_prefix},
                                               {"max_tokens", request.max_tokens},
                                               {"effort", request.effort},
                                               {"seed", request.seed}}) +
                                  "\n");
    } else {
      context.terminal.write_file(
          fmt::format("--- system\n{}\n--- prompt\n{}\n", request.system, request.prompt));
    }
    return ExitCode::Done;
  }

  /// What the first decision after the seed sends.
  Result<llm::Request> first_request(const JourneyOptions& options,
                                     const Subject& subject,
                                     candidate::Evaluator& evaluator) const {
    auto seed = std::make_shared<candidate::Judged>();
    seed->candidate.source = program::single_file("program.cu", subject.program);
    if (!unjudged_) {
      CUCO_TRY_ASSIGN(seed->outcome,
                      evaluator.evaluate(seed->candidate,
                                         {evaluator.target().kind, candidate::Fidelity::Standard}));
    }
    CUCO_TRY_ASSIGN(const auto toolkit, toolchain::find_cuda(system::Environment::current()));
    CUCO_TRY_ASSIGN(const ReadText read, make_reader(subject, toolkit.root));
    CUCO_TRY_ASSIGN(const analysis::CommunicationGraph graph, read(subject.program));
    const expert::StandaloneIdeas own;
    const Situation situation{
        subject, graph, own, evaluator.target(), installed_nccl(toolkit.root), toolkit.root, read};
    CUCO_TRY_ASSIGN(agents::Problem problem, describe_problem(options, situation));
    Nobody nobody;
    const agents::Questioner questioner(nobody, std::move(problem), model_call(options));
    // Decision 0 is the seed.
    return questioner.request_for(
        *agents::find_role(role_),
        {.seed = options.seed + 1, .history = candidate::History({std::move(seed)})});
  }

  static Result<std::string> body_text(const llm::Request& request, const ModelOptions& options) {
    CUCO_TRY_ASSIGN(const auto catalogue, load_catalogue(options, system::Environment::current()));
    CUCO_TRY_ASSIGN(const auto endpoint,
                    find_endpoint_without_key(options.model, options, catalogue));
    CUCO_TRY_ASSIGN(const auto http, llm::http_request(endpoint, request, Nanoseconds{0}));
    return http.body;
  }

  std::string role_;
  std::filesystem::path workload_;
  std::string topology_;
  std::string model_;
  std::optional<std::uint64_t> seed_;
  bool body_ = false;
  bool unjudged_ = false;
};

}  // namespace

std::unique_ptr<Command> make_prompt_command() {
  return std::make_unique<PromptCommand>();
}

}  // namespace cuco::cli
