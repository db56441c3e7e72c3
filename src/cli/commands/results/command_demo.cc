// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/journey/journey.h"
#include "cli/journey/journey_view.h"
#include "cli/journey/run_lookup.h"
#include "cli/live/live_run.h"
#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"
#include "store/run_recording.h"
#include "system/os/system_clock.h"

namespace cuco::cli {
namespace {

constexpr const char* kRecording = "demo/gemm_allgather.jsonl";
constexpr double kLongestPause = 1.5;  // Seconds; nobody wants to watch a compiler.

class DemoCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.option("--speed", speed_, "N", "playback speed, N times real time (default: 20)");
  }

  Result<ExitCode> run(Context& context) override {
    if (speed_ <= 0) return Error{ErrorKind::InvalidInput, "--speed must be above 0"};
    CUCO_TRY_ASSIGN(const system::Path path, system::find_data(kRecording));
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(path));
    auto events = store::parse_recording(text);
    if (!events) return std::move(events).error().while_doing(path.string());
    const auto folder = store::demo_run(context.config.text("store.folder"));
    CUCO_TRY(store::write_run(*events, folder));

    const InterruptScope interrupts;
    const system::SystemClock clock;
    const InFlight nothing(clock);
    std::optional<LiveRun> live;
    candidate::RunState state;
    for (const candidate::Event& event : *events) {
      wait_as_then(context, state, event);
      if (InterruptScope::requested()) return ExitCode::Interrupted;
      state.apply(event);
      if (const auto* started = std::get_if<candidate::RunStarted>(&event.body)) {
        introduce(context, *started, event.time_ms);
        if (!context.json && Painter::paints(context.terminal))
          live.emplace(context.terminal, about(*started), nothing, clock, nullptr);
      }
      if (live) live->apply(event);
      show_event(context, event, state, live.has_value());
    }
    live.reset();
    if (const auto* best = report::winner(state)) {
      CUCO_TRY(write_candidate(state, best->candidate.number, folder.name, folder.best()));
    }
    const ExitCode code = show_closing(context, state, folder);
    show_line(context, {"",
                        "details  cuco show demo     page  cuco report demo     "
                        "for real  cuco optimize workloads/gemm_allgather"});
    return code;
  }

 private:
  static SearchView about(const candidate::RunStarted& started) {
    SearchView view;
    view.name = system::Path(started.workload).filename().string();
    view.machine = started.hardware;
    view.run = "demo";
    if (const auto options = parse_journey_options(started.options))
      view.candidates = options->candidates;
    return view;
  }

  static void introduce(Context& context,
                        const candidate::RunStarted& started,
                        std::int64_t time_ms) {
    show_line(context, {"recorded", fmt::format("{}; this is a playback", date_text(time_ms))});
    show_line(context,
              {system::Path(started.workload).filename().string(),
               fmt::format("{}, {}   seed {}", started.target, started.hardware, started.seed)});
  }

  /// Keeps the recording's rhythm on a terminal; scripts and files get it at once.
  void wait_as_then(Context& context,
                    const candidate::RunState& state,
                    const candidate::Event& next) const {
    if (state.last_ms == 0 || context.json || !context.terminal.settings().live) return;
    const double then = static_cast<double>(next.time_ms - state.last_ms) / 1000.0;
    const double pause = std::clamp(then / speed_, 0.0, kLongestPause);
    system::SystemClock clock;
    clock.sleep(std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(pause)));
  }

  double speed_ = 20;
};

}  // namespace

std::unique_ptr<Command> make_demo_command() {
  return std::make_unique<DemoCommand>();
}

}  // namespace cuco::cli
