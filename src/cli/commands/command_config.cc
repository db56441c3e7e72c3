// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/config/config.h"
#include "cli/terminal/command.h"

namespace cuco::cli {
namespace {

class ConfigCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("KEY", key_, "show only this key")
        .optional()
        .completes(Completion::Nothing);
    arguments.flag("--explain", explain_, "also print what each key is for");
  }

  Result<ExitCode> run(Context& context) override {
    Table table;
    Json object = Json::object();
    for (const ConfigKey& key : config_keys()) {
      if (!key_.empty() && key.name != key_) continue;
      const Setting& setting = context.config.setting(key.name);
      object[std::string(key.name)] = {{"value", setting.value}, {"origin", setting.origin}};
      const std::string shown = setting.value.empty() ? context.terminal.dash() : setting.value;
      const std::string last = explain_ ? std::string(key.help) : setting.origin;
      table.row({context.terminal.styled(Style::Accent, key.name), shown,
                 context.terminal.styled(Style::Dim, last)});
    }
    if (object.empty()) {
      return Error(ErrorKind::InvalidInput,
                   fmt::format("unknown key '{}'; list all with: cuco config", key_));
    }
    context.terminal.write(context.json ? to_text(object) + "\n" : table.text());
    return ExitCode::Done;
  }

 private:
  std::string key_;
  bool explain_ = false;
};

}  // namespace

std::unique_ptr<Command> make_config_command() {
  return std::make_unique<ConfigCommand>();
}

}  // namespace cuco::cli
