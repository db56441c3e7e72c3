// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "report/detail.h"

namespace cuco::cli {
namespace {

class ExplainCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, or 'last'").completes(Completion::Run);
    arguments.positional("CANDIDATE", number_, "number of the candidate (default: the best)")
        .optional()
        .completes(Completion::Nothing);
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    const auto number = number_ ? number_ : run.state.best;
    if (!number) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("run {} has no best candidate; name one: cuco explain RUN CANDIDATE",
                               run.folder.name)};
    }
    CUCO_TRY_ASSIGN(const candidate::Entry* entry, find_entry(run, *number));
    const auto text = report::explanation(run.state, entry->candidate.number);
    context.terminal.write(context.json
                               ? to_text(Json{{"candidate", *number}, {"explanation", text}}) + "\n"
                               : context.terminal.fitted(text));
    return ExitCode::Done;
  }

 private:
  std::string run_;
  std::optional<int> number_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() {
  return std::make_unique<ExplainCommand>();
}

}  // namespace cuco::cli
