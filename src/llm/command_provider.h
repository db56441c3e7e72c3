// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program as a model: the prompt on its standard input, the answer on its standard output.
#pragma once

#include <string>

#include "llm/provider.h"

namespace cuco::llm {

/// The program gets a bare environment: no keys, no settings of the user. It may use the network
/// only if it needs none of those; what it writes to standard error is shown when it fails.
class CommandProvider final : public Provider {
 public:
  /// `command` is a program with arguments, separated by spaces; it is found along PATH.
  explicit CommandProvider(std::string command) : command_(std::move(command)) {}

  [[nodiscard]] std::string name() const override { return "command"; }
  [[nodiscard]] std::string model() const override { return command_; }
  Result<Reply> complete(const Request& request) override;

 private:
  std::string command_;
};

}  // namespace cuco::llm
