// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recordings: every exchange with a provider in a file, and a provider that answers from one,
/// offline and bit for bit.
///
/// One JSON object a line: {"question": hash, "model": …, "system": …, "prompt": …, "answer": …,
/// …}. The hash covers model, system text, prompt and seed; the texts are there for people.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "llm/provider.h"
#include "system/os/files.h"

namespace cuco::llm {

/// Passes everything on and writes it down. Exchanges are appended and synced one by one.
class RecordingProvider final : public Provider {
 public:
  RecordingProvider(std::unique_ptr<Provider> inner, system::Path file)
      : inner_(std::move(inner)), file_(std::move(file)) {}

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] std::string model() const override { return inner_->model(); }
  Result<Reply> complete(const Request& request) override;

 private:
  std::unique_ptr<Provider> inner_;
  system::Path file_;
};

class ReplayProvider final : public Provider {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ReplayProvider>> open(const system::Path& file);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string model() const override { return model_; }

  /// The recorded answer to this very question; asked twice, the second one. NotFound if there is
  /// none.
  Result<Reply> complete(const Request& request) override;

 private:
  ReplayProvider() = default;
  std::string name_;
  std::string model_;
  std::map<std::string, std::deque<Reply>> answers_;
};

}  // namespace cuco::llm
