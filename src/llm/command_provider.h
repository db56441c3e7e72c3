// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program as a model: the prompt on its standard input, the answer on its standard output.
#pragma once

#include <string>
#include <vector>

#include "llm/provider.h"

namespace cuco::llm {

struct CommandLine {
  std::vector<std::string> words;  ///< The program, found along PATH, and its arguments.
  /// Variables of ours that it gets, by name; everything else stays behind. Programs that have a
  /// login of their own need HOME, and PATH if they start others.
  std::vector<std::string> variables;
};

/// The program gets a bare environment with the variables that are named, runs in the current
/// folder, and may use the network. What it writes to standard error is shown when it fails; values
/// of variables that look like secrets are cut out of everything that it says.
class CommandProvider final : public Provider {
 public:
  explicit CommandProvider(CommandLine command) : command_(std::move(command)) {}

  [[nodiscard]] std::string name() const override { return "command"; }
  /// The words, quoted where they must be.
  [[nodiscard]] std::string model() const override;
  Result<Reply> complete(const Request& request) override;

 private:
  CommandLine command_;
};

}  // namespace cuco::llm
