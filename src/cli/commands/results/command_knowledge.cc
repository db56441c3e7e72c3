// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/journey/learned.h"
#include "cli/terminal/command.h"
#include "system/os/system_clock.h"

namespace cuco::cli {
namespace {
using knowledge::Knowledge;
using knowledge::Lesson;

class KnowledgeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WHAT", what_, "show, export, merge or forget")
        .one_of({"show", "export", "merge", "forget"});
    arguments
        .positional("ARGUMENT", argument_,
                    "merge: a file that was exported; forget: part of the situation's text")
        .optional()
        .completes(Completion::File);
  }

  Result<ExitCode> run(Context& context) override {
    const system::Path file = knowledge_file(context.config);
    CUCO_TRY_ASSIGN(const Knowledge known, load_knowledge(file));
    if (what_ == "show") {
      context.terminal.write(context.json ? as_json(known) : as_table(known));
      return ExitCode::Done;
    }
    if (what_ == "export") {
      context.terminal.write_file(known.to_json());
      return ExitCode::Done;
    }
    if (argument_.empty()) {
      return Error{ErrorKind::InvalidInput,
                   what_ == "merge" ? "cuco knowledge merge needs a FILE"
                                    : "cuco knowledge forget needs part of a situation's text"};
    }
    return what_ == "merge" ? merge(context, file) : forget(context, file);
  }

 private:
  Result<ExitCode> merge(Context& context, const system::Path& file) const {
    CUCO_TRY_ASSIGN(const std::string text, system::read_file(argument_));
    auto other = Knowledge::parse(text);
    if (!other) return std::move(other).error().while_doing(argument_);
    std::size_t before = 0;
    std::size_t after = 0;
    system::SystemClock clock;
    CUCO_TRY(change_knowledge(file, clock, [&](Knowledge& known) -> Result<void> {
      before = known.lessons().size();
      known.merge(*other);
      after = known.lessons().size();
      return {};
    }));
    context.terminal.note("{} lessons, {} before", after, before);
    return ExitCode::Done;
  }

  Result<ExitCode> forget(Context& context, const system::Path& file) const {
    std::size_t count = 0;
    system::SystemClock clock;
    CUCO_TRY(change_knowledge(file, clock, [&](Knowledge& known) -> Result<void> {
      count = known.forget(argument_);
      if (count > 0) return {};
      return Error{ErrorKind::NotFound,
                   fmt::format("no situation contains '{}'; see cuco knowledge show", argument_)};
    }));
    context.terminal.note("{} lessons forgotten", count);
    return ExitCode::Done;
  }

  static std::string gain_text(const Lesson& lesson) {
    return fmt::format("{:.2f}x {}", lesson.expected(),
                       lesson.measured.count > 0 ? "measured" : "predicted");
  }

  static std::string as_table(const Knowledge& known) {
    if (known.lessons().empty()) return "nothing has been learnt yet: cuco optimize teaches\n";
    std::string text;
    std::string situation;
    Table table({Table::Align::Left, Table::Align::Right, Table::Align::Right});
    const auto flush = [&] {
      if (situation.empty()) return;
      text += situation + "\n" + table.text(2) + "\n";
      table = Table({Table::Align::Left, Table::Align::Right, Table::Align::Right});
    };
    for (const auto& [key, lesson] : known.lessons()) {
      if (key.first != situation) {
        flush();
        situation = key.first;
      }
      table.row({key.second, fmt::format("{}/{} correct", lesson.correct, lesson.tries),
                 fmt::format("expect {}", gain_text(lesson)), lesson.example});
    }
    flush();
    return text;
  }

  static std::string as_json(const Knowledge& known) {
    Json list = Json::array();
    for (const auto& [key, lesson] : known.lessons()) {
      list.push_back({{"situation", key.first},
                      {"move", key.second},
                      {"tries", lesson.tries},
                      {"correct", lesson.correct},
                      {"expected", lesson.expected()},
                      {"confidence", lesson.confidence()},
                      {"measured", lesson.measured.count > 0},
                      {"example", lesson.example}});
    }
    return to_text(Json{{"lessons", std::move(list)}}) + "\n";
  }

  std::string what_;
  std::string argument_;
};

}  // namespace

std::unique_ptr<Command> make_knowledge_command() {
  return std::make_unique<KnowledgeCommand>();
}

}  // namespace cuco::cli
