// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/command.h"
#include "store/maintenance.h"
#include "store/run_recording.h"
#include "store/stored_run.h"

namespace cuco::cli {
namespace {

class DbCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WHAT", what_, "verify, export or vacuum")
        .one_of({"verify", "export", "vacuum"});
    arguments.positional("RUN", run_, "number of the run, or 'last'")
        .completes(Completion::Nothing);
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const store::RunFolder folder,
                    store::find_run(context.config.text("store.folder"), run_));
    if (what_ == "verify") return verify(context, folder);
    if (what_ == "vacuum") return vacuum(context, folder);
    CUCO_TRY_ASSIGN(const auto events, store::load_events(folder));
    context.terminal.write_file(store::to_recording(events));
    return ExitCode::Done;
  }

 private:
  static Result<ExitCode> verify(Context& context, const store::RunFolder& folder) {
    CUCO_TRY_ASSIGN(const store::Verified verified, store::verify(folder));
    const bool whole = verified.problems.empty();
    if (context.json) {
      context.terminal.write(
          to_text(Json{
              {"run", folder.name}, {"events", verified.events}, {"problems", verified.problems}}) +
          "\n");
    } else {
      for (const std::string& problem : verified.problems)
        context.terminal.print("run {}: {}\n", folder.name, problem);
      if (whole)
        context.terminal.print("run {} is whole: {} events\n", folder.name, verified.events);
    }
    return whole ? ExitCode::Done : ExitCode::JobFailed;
  }

  static Result<ExitCode> vacuum(Context& context, const store::RunFolder& folder) {
    CUCO_TRY_ASSIGN(const store::Vacuumed made, store::vacuum(folder));
    if (context.json) {
      context.terminal.write(
          to_text(Json{
              {"run", folder.name}, {"bytes_before", made.before}, {"bytes_after", made.after}}) +
          "\n");
    } else {
      context.terminal.print("run {}: {} bytes, {} before\n", folder.name, made.after, made.before);
    }
    return ExitCode::Done;
  }

  std::string what_;
  std::string run_;
};

}  // namespace

std::unique_ptr<Command> make_db_command() {
  return std::make_unique<DbCommand>();
}

}  // namespace cuco::cli
