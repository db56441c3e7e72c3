// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/run_lookup.h"
#include "cli/terminal/command.h"
#include "system/jobs/process.h"
#include "system/os/files.h"

namespace cuco::cli {
namespace {

class ServeCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("RUN", runs_, "show only these runs")
        .optional()
        .completes(Completion::Run);
    arguments.option("--port", port_, "N", "local port (default: 8765; 0: any free port)");
    arguments.option("--address", address_, "IP",
                     "listen there (default: 127.0.0.1); other machines need the printed token");
  }

  /// The server is a program of its own: it links an HTTP library that the others need not load.
  Result<ExitCode> run(Context& context) override {
    if (port_ < 0 || port_ > 65535) {
      return Error{ErrorKind::InvalidInput, "--port must be 0 to 65535"};
    }
    CUCO_TRY_ASSIGN(const system::Path helper, system::find_helper("cuco-serve"));
    const std::string root = context.config.text("store.folder");
    std::vector<std::string> words{root, address_, std::to_string(port_)};
    for (const std::string& name : runs_) {
      CUCO_TRY_ASSIGN(const auto folder, store::find_run(root, name));
      words.push_back(folder.name);
    }
    return system::become(helper, words);
  }

 private:
  std::vector<std::string> runs_;
  std::string address_ = "127.0.0.1";
  int port_ = 8765;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() {
  return std::make_unique<ServeCommand>();
}

}  // namespace cuco::cli
