// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "program/diff.h"

namespace cuco::cli {
namespace {

class DiffCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, or 'last'")
        .completes(Completion::Nothing);
    arguments.positional("A", a_, "number of a candidate; 0 is the seed")
        .completes(Completion::Nothing);
    arguments.positional("B", b_, "number of another one").completes(Completion::Nothing);
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    CUCO_TRY_ASSIGN(const candidate::Entry* a, find_entry(run, a_));
    CUCO_TRY_ASSIGN(const candidate::Entry* b, find_entry(run, b_));
    for (const candidate::Entry* entry : {a, b}) {
      if (!entry->candidate.source.empty()) continue;
      return Error{ErrorKind::InvalidInput,
                   fmt::format("#{} has no program: {}", entry->candidate.number,
                               entry->latest() == nullptr ? "it was not judged"
                                                          : candidate::summary(*entry->latest()))};
    }
    const std::string diff = program::unified_diff(a->candidate.source, b->candidate.source);
    context.terminal.write_file(
        context.json ? to_text(Json{{"a", a_}, {"b", b_}, {"diff", diff}}) + "\n" : diff);
    return ExitCode::Done;
  }

 private:
  std::string run_;
  int a_ = 0;
  int b_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_diff_command() {
  return std::make_unique<DiffCommand>();
}

}  // namespace cuco::cli
