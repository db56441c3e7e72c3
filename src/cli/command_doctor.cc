// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/diagnosis.h"

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
    context.terminal.progress("looking at this machine …");
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
      for (const GpuFacts& gpu : machine.driver->gpus) {
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

  static std::string as_text(const Machine& machine,
                             const Diagnosis& diagnosis,
                             const Terminal& terminal) {
    std::string text;
    constexpr int kTopic = 11;
    constexpr int kFound = 36;
    for (const Finding& finding : diagnosis.findings) {
      text += padded(terminal.styled(Style::Bold, finding.topic), kTopic);
      text += padded(finding.found, kFound) + "  " + mark(finding.state, terminal);
      if (!finding.advice.empty()) text += "  " + finding.advice;
      text += "\n";
    }
    text += padded(terminal.styled(Style::Bold, "sandbox"), kTopic);
    text += wrapped(fence_words(machine, terminal), kTopic, std::max(60, terminal.width()));
    text += missing_fences(machine, kTopic);
    text += padded(terminal.styled(Style::Bold, "targets"), kTopic);
    for (const TargetState& target : diagnosis.targets) {
      text += fmt::format("{} {}", target.name, target.usable ? terminal.tick() : terminal.dash());
      if (target.name == diagnosis.default_target) text += " (default)";
      if (!target.reason.empty()) text += fmt::format(" ({})", target.reason);
      text += "   ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
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
  static std::string missing_fences(const Machine& machine, int indent) {
    std::string text;
    for (const FenceFacts& fence : machine.fences) {
      if (!fence.works) text += fmt::format("{:{}}{}: {}\n", "", indent, fence.name, fence.how);
    }
    if (text.empty()) return text;
    return text +
           fmt::format(
               "{:{}}code that a model wrote will not start here; the expert's runs with the "
               "fences there are\n{:{}}cgroups need a writable /sys/fs/cgroup: root on the "
               "host, or a container that may write it\n",
               "", indent, "", indent);
  }

  /// Words on as many lines as they need; the first line is begun by the caller.
  static std::string wrapped(const std::vector<std::string>& words, int indent, int width) {
    std::string text;
    int column = indent;
    for (const std::string& word : words) {
      const int needed = display_width(word) + 2;
      if (column + needed > width && column > indent) {
        text.erase(text.find_last_not_of(' ') + 1);
        text += fmt::format("\n{:{}}", "", indent);
        column = indent;
      }
      text += word + "  ";
      column += needed;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace cuco::cli
