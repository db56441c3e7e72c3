// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "candidate/event_json.h"
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "program/diff.h"
#include "report/known_error.h"
#include "report/progress.h"
#include "store/run_recording.h"

namespace cuco::cli {
namespace {

using candidate::Entry;

class ShowCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", run_, "number of the run, or 'last'").completes(Completion::Run);
    arguments.positional("CANDIDATE", number_, "show this candidate in full")
        .optional()
        .completes(Completion::Nothing);
    arguments.flag("--code", code_, "print only the candidate's source");
    arguments.flag("--diff", diff_, "print only its diff against the seed");
    arguments.flag("--events", events_, "print all events, one JSON object per line");
  }

  Result<ExitCode> run(Context& context) override {
    CUCO_TRY_ASSIGN(const StoredRun run, load_run(context.config, run_));
    if (events_) {
      CUCO_TRY_ASSIGN(const auto events, store::load_events(run.folder));
      context.terminal.write_file(store::to_recording(events));
      return ExitCode::Done;
    }
    if (!number_) {
      if (code_ || diff_) {
        return Error(ErrorKind::InvalidInput, "--code and --diff need a CANDIDATE");
      }
      context.terminal.write(
          context.json ? as_json(run) : context.terminal.fitted(overview(run, context.terminal)));
      return ExitCode::Done;
    }
    CUCO_TRY_ASSIGN(const Entry* entry, find_entry(run, *number_));
    if (code_ && !context.json) {
      for (const auto& file : entry->candidate.source.files())
        context.terminal.write_file(file.text);
    } else if (code_) {
      Json files = Json::object();
      for (const auto& file : entry->candidate.source.files())
        files[file.path] = file.text;
      context.terminal.write_file(to_text(files) + "\n");
    } else if (diff_) {
      const std::string diff = program::unified_diff(run.state.entries.front().candidate.source,
                                                     entry->candidate.source);
      context.terminal.write_file(context.json ? to_text(Json{{"diff", diff}}) + "\n" : diff);
    } else {
      context.terminal.write(
          context.json ? to_text(as_json(*entry)) + "\n"
                       : context.terminal.fitted(in_full(*entry, run.state, context.terminal)));
    }
    return ExitCode::Done;
  }

 private:
  static std::string overview(const StoredRun& run, const Terminal& terminal) {
    const candidate::RunState& state = run.state;
    std::string text;
    if (state.started) {
      text += fmt::format("run {}   {}   {}   {}   seed {}   {}\n\n", run.folder.name,
                          state.started->workload, state.started->target, state.started->hardware,
                          state.started->seed, state_text(run));
    }
    for (const candidate::StepDone& step : state.steps) {
      text += fmt::format("{} {}  {}\n", step.ok ? terminal.tick() : terminal.cross(), step.step,
                          terminal.styled(Style::Dim, step.detail));
    }
    if (!state.steps.empty()) text += "\n";
    text += candidates(state, terminal);
    const std::string error = report::known_error(state);
    return error.empty() ? text : text + fmt::format("\nerror of predicted times: {}\n", error);
  }

  /// A line each; two where the longest would not fit the terminal, so that all look alike.
  static std::string candidates(const candidate::RunState& state, const Terminal& terminal) {
    Table wide({Table::Align::Right});
    Table narrow({Table::Align::Right});
    int widest = 0;
    for (const Entry& entry : state.entries) {
      // A closer look may have refused it since.
      const bool best = state.best == entry.candidate.number && entry.scored() != nullptr;
      const std::string number = fmt::format("#{}", entry.candidate.number);
      const std::string design = report::told_apart(entry, state);
      const std::string& proposer = entry.candidate.lineage.proposer;
      const std::string judged = clipped(report::judged_text(entry, state), 70) +
                                 (best ? terminal.styled(Style::Good, "  ← best") : "");
      wide.row({number, design, proposer, judged});
      narrow.row({number, design});
      narrow.row({"", fmt::format("{}  {}", proposer, judged)});
    }
    const std::string text = wide.text();
    for (const std::string_view line : split(text, '\n'))
      widest = std::max(widest, display_width(line));
    return terminal.settings().shown && widest > terminal.width() ? narrow.text() : text;
  }

  static std::string in_full(const Entry& entry,
                             const candidate::RunState& state,
                             const Terminal& terminal) {
    const candidate::Candidate& candidate = entry.candidate;
    const candidate::Lineage& lineage = candidate.lineage;
    std::string text =
        fmt::format("{}  {}\n", terminal.styled(Style::Bold, fmt::format("#{}", candidate.number)),
                    report::design_of(entry));
    Table table;
    table.row(
        {"from",
         fmt::format("{}{}{}", lineage.proposer, lineage.phase.empty() ? "" : ", " + lineage.phase,
                     lineage.parent ? fmt::format(", parent #{}", *lineage.parent) : "")});
    if (!lineage.because.empty()) table.row({"because", lineage.because});
    table.row({"verdict", report::judged_text(entry, state)});
    table.row({"code", candidate.code_hash});
    text += table.text(2);
    if (const candidate::Scored* scored = entry.scored()) {
      text += shapes(*scored);
    } else if (const candidate::Outcome* outcome = entry.latest()) {
      text += "\n" + candidate::explanation(*outcome) + "\n";
    }
    return text;
  }

  static std::string shapes(const candidate::Scored& scored) {
    Table table(
        {Table::Align::Left, Table::Align::Right, Table::Align::Right, Table::Align::Right});
    table.row({"shape", "time", "seed", "bound"});
    for (const candidate::ShapeTime& shape : scored.shapes) {
      table.row({shape.shape, human_seconds(shape.seconds),
                 shape.baseline_seconds > 0 ? human_seconds(shape.baseline_seconds) : "–",
                 shape.bound_seconds > 0 ? human_seconds(shape.bound_seconds) : "–"});
    }
    return fmt::format("\n{}  checked on {}; times are {}, {}\n", table.text(2),
                       report::checked_on(scored), scored.predicted ? "predicted" : "measured",
                       scored.hardware);
  }

  static Json as_json(const Entry& entry) {
    const candidate::Candidate& candidate = entry.candidate;
    Json object = {{"candidate", candidate.number},
                   {"directive", design::to_text(candidate.directive)},
                   {"proposer", candidate.lineage.proposer},
                   {"because", candidate.lineage.because},
                   {"code_hash", candidate.code_hash}};
    if (candidate.lineage.parent) object["parent"] = *candidate.lineage.parent;
    if (const candidate::Outcome* outcome = entry.latest()) {
      object["verdict"] = candidate::verdict(*outcome);
      if (auto parsed = parse_json(candidate::to_json(*outcome))) {
        object["outcome"] = *std::move(parsed);
      }
    }
    return object;
  }

  static std::string as_json(const StoredRun& run) {
    Json object = {{"run", run.folder.name}, {"state", state_text(run)}};
    if (run.state.best) object["best"] = *run.state.best;
    object["candidates"] = Json::array();
    for (const Entry& entry : run.state.entries)
      object["candidates"].push_back(as_json(entry));
    return to_text(object) + "\n";
  }

  std::string run_;
  std::optional<int> number_;
  bool code_ = false;
  bool diff_ = false;
  bool events_ = false;
};

}  // namespace

std::unique_ptr<Command> make_show_command() {
  return std::make_unique<ShowCommand>();
}

}  // namespace cuco::cli
