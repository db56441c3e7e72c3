// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "cli/commands/results/judged_beside.h"
#include "cli/commands/results/recorded_timeline.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "report/forms.h"
#include "report/page.h"
#include "report/progress.h"

namespace cuco::cli {
namespace {

class ReportCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, 'last' or 'demo'")
        .completes(Completion::Run);
    arguments
        .option("--output", file_, "FILE", "where to write it (default: report.html in the run)")
        .with_letter('o')
        .completes(Completion::File);
    arguments.flag("--markdown", markdown_, "Markdown instead of a page, on standard output");
    arguments.flag("--no-timeline", no_timeline_,
                   "do not run seed and winner once more to show what they do when");
    arguments.option("--beside", beside_, "FILE", "judge that program like the winner, and compare")
        .completes(Completion::File);
    arguments.option("--record", record_, "N",
                     "no report: record what candidate N and the seed do when, for cuco serve");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    if (record_) {
      CUCO_TRY(recorded(context, run, *record_));
      context.terminal.print("written to {}\n", run.folder.timeline(*record_).string());
      return ExitCode::Done;
    }
    if (!beside_.empty()) context.terminal.progress("judging what stands beside the winner …");
    auto judged = judge_beside(run.state, beside_);
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const auto beside, std::move(judged));
    // JSON and Markdown are for pipes, unless a file is named.
    if (context.json || markdown_) {
      const std::string text = context.json
                                   ? report::run_json(run.state, run.folder.name, beside)
                                   : report::run_markdown(run.state, run.folder.name, beside);
      if (file_.empty()) {
        context.terminal.write_file(text);
        return ExitCode::Done;
      }
      CUCO_TRY(system::write_file(file_, text));
      context.terminal.note("written to {}", file_.string());
      return ExitCode::Done;
    }
    const system::Path file = file_.empty() ? run.folder.path / "report.html" : file_;
    CUCO_TRY(
        system::write_file(file, report::run_page(run.state, {.run = run.folder.name,
                                                              .state = state_text(run),
                                                              .timeline = timeline(context, run),
                                                              .beside = beside})));
    context.terminal.print("written to {}\n", file.string());
    return ExitCode::Done;
  }

 private:
  /// A report without it is a report still: what is in the way is told, no more.
  std::optional<report::Timeline> timeline(Context& context, const StoredRun& run) const {
    const auto* best = report::winner(run.state);
    if (best == nullptr) return std::nullopt;
    const auto number = best->candidate.number;
    if (auto kept = kept_timeline(run.folder, number)) return kept;
    if (no_timeline_ || !best->scored()->predicted) return std::nullopt;
    auto made = recorded(context, run, number);
    if (made) return *std::move(made);
    context.terminal.note("no timeline in the report: {}", made.error().message());
    return std::nullopt;
  }

  static Result<report::Timeline> recorded(Context& context,
                                           const StoredRun& run,
                                           candidate::Number number) {
    context.terminal.progress("recording what candidate and seed do when …");
    auto made = record_timeline(run.state, run.folder, number);
    context.terminal.clear_progress();
    return made;
  }

  std::string run_;
  system::Path file_;
  bool markdown_ = false;
  bool no_timeline_ = false;
  std::optional<int> record_;
  std::vector<system::Path> beside_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() {
  return std::make_unique<ReportCommand>();
}

}  // namespace cuco::cli
