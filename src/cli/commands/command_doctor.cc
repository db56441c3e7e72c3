// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/doctor/diagnosis.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {

std::string_view word_of(Finding::State state) {
  switch (state) {
    case Finding::State::Good:
      return "good";
    case Finding::State::Absent:
      return "absent";
    case Finding::State::Bad:
      return "bad";
  }
  return "";
}

class DoctorCommand final : public Command {
 public:
  void declare(Arguments&) override {}
  [[nodiscard]] bool accepts_broken_config() const override { return true; }

  Result<ExitCode> run(Context& context) override {
    context.terminal.progress("inspecting this machine …");
    const Machine machine = inspect_machine(context.config, system::Environment::current());
    Diagnosis diagnosis = diagnose(machine, context.config.text("run.target"));
    if (!context.config_problem.empty()) {
      diagnosis.findings.push_back(
          {"config", "broken", Finding::State::Bad, context.config_problem});
    }
    context.terminal.write(context.json ? as_json(machine, diagnosis)
                                        : as_text(machine, diagnosis, context.terminal));
    return ExitCode::Done;
  }

 private:
  static std::string as_json(const Machine& machine, const Diagnosis& diagnosis) {
    Json object = Json::object();
    for (const Finding& finding : diagnosis.findings) {
      object["findings"].push_back({{"topic", finding.topic},
                                    {"found", finding.found},
                                    {"state", word_of(finding.state)},
                                    {"advice", finding.advice}});
    }
    for (const FenceFacts& fence : machine.fences) {
      object["fences"].push_back(
          {{"name", fence.name}, {"works", fence.works}, {"how", fence.how}});
    }
    for (const TargetState& target : diagnosis.targets) {
      object["targets"].push_back(
          {{"name", target.name}, {"usable", target.usable}, {"reason", target.reason}});
    }
    object["gpus"] = Json::array();
    if (machine.driver) {
      for (const targets::GpuFacts& gpu : machine.driver->gpus) {
        object["gpus"].push_back({{"name", gpu.name}, {"memory_bytes", gpu.memory_bytes}});
      }
    }
    object["default_target"] = diagnosis.default_target;
    return to_text(object) + "\n";
  }

  static std::string mark(Finding::State state, const Terminal& terminal) {
    switch (state) {
      case Finding::State::Good:
        return terminal.tick();
      case Finding::State::Absent:
        return terminal.dash();
      case Finding::State::Bad:
        return terminal.cross();
    }
    return "";
  }

  static constexpr int kTopicColumns = 11;

  static std::string as_text(const Machine& machine,
                             const Diagnosis& diagnosis,
                             const Terminal& terminal) {
    const int width = std::max(72, terminal.width());
    int found_columns = 0;
    for (const Finding& finding : diagnosis.findings) {
      found_columns = std::max(found_columns, std::min(40, display_width(finding.found)));
    }
    std::string text;
    for (const Finding& finding : diagnosis.findings) {
      text += topic(finding.topic, terminal) + padded(finding.found, found_columns) + "  " +
              mark(finding.state, terminal);
      if (finding.advice.empty()) {
        text += "\n";
      } else {
        text += "  " + wrapped(words_of(finding.advice), kTopicColumns + found_columns + 5, width);
      }
    }
    text += topic("sandbox", terminal) +
            wrapped(fence_words(machine, terminal), kTopicColumns, width, "  ") +
            missing_fences(machine, width);
    return text + targets(diagnosis, terminal, width);
  }

  static std::string topic(std::string_view name, const Terminal& terminal) {
    return padded(terminal.styled(Style::Bold, name), kTopicColumns);
  }

  static std::vector<std::string> words_of(std::string_view text) {
    const auto words = split(text, ' ');
    return {words.begin(), words.end()};
  }

  static std::string targets(const Diagnosis& diagnosis, const Terminal& terminal, int width) {
    std::vector<std::string> words;
    // Targets that are missing for the same reason share a line.
    std::map<std::string, std::vector<std::string>> names_by_reason;
    for (const TargetState& target : diagnosis.targets) {
      words.push_back(fmt::format("{} {}{}", target.name,
                                  target.usable ? terminal.tick() : terminal.dash(),
                                  target.name == diagnosis.default_target ? " (default)" : ""));
      if (!target.reason.empty()) names_by_reason[target.reason].push_back(target.name);
    }
    std::string text = topic("targets", terminal) + wrapped(words, kTopicColumns, width, "   ");
    for (const auto& [reason, names] : names_by_reason) {
      text += indented(fmt::format("{}: {}", join(names, ", "), reason), width);
    }
    return text;
  }

  static std::string indented(std::string_view line, int width) {
    return std::string(kTopicColumns, ' ') + wrapped(words_of(line), kTopicColumns, width);
  }

  static std::vector<std::string> fence_words(const Machine& machine, const Terminal& terminal) {
    std::vector<std::string> words;
    for (const FenceFacts& fence : machine.fences) {
      words.push_back(
          fmt::format("{} {}", fence.name, fence.works ? terminal.tick() : terminal.cross()));
    }
    return words;
  }

  /// Why each missing fence is missing, and what follows.
  static std::string missing_fences(const Machine& machine, int width) {
    std::string text;
    for (const FenceFacts& fence : machine.fences) {
      if (!fence.works) text += indented(fmt::format("{}: {}", fence.name, fence.how), width);
    }
    if (text.empty()) return text;
    return text +
           indented(
               "code written by a model will not run here; the built-in expert's code runs with "
               "the remaining fences. Memory and process limits need a writable /sys/fs/cgroup: "
               "root on the host, or a container that may write to it",
               width);
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace cuco::cli
