// SPDX-License-Identifier: Apache-2.0
/// \file
/// A folder as a model: a question appears as a file, and whoever answers it writes another one.
/// For people, and for agents that this program cannot call.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "llm/provider.h"
#include "system/os/files.h"

namespace cuco::llm {

/// A question is FOLDER/ID.question.md, written whole or not at all; its answer is awaited as
/// FOLDER/ID.answer.md. ID says which call it is and what is asked, so that a run that was stopped
/// finds the answers to the questions that it asks again, and an old answer is never taken for that
/// to another question. FOLDER/README.md says what to do.
class MailboxProvider final : public Provider {
 public:
  /// `clock` must outlive it.
  MailboxProvider(system::Path folder, Clock& clock) : folder_(std::move(folder)), clock_(clock) {}

  [[nodiscard]] std::string name() const override { return "mailbox"; }
  [[nodiscard]] std::string model() const override { return "mailbox"; }

  /// Makes the folder, with its README.md. An Error where nothing can be written.
  [[nodiscard]] Result<void> prepare() const;

  /// Timeout if nobody has answered in time; the question stays, and its answer still counts when
  /// it is asked again.
  Result<Reply> complete(const Request& request) override;

 private:
  Result<void> ask(const Request& request, const std::string& id) const;
  [[nodiscard]] Result<std::string> finished_answer(const system::Path& file) const;

  system::Path folder_;
  Clock& clock_;
};

/// The name of a question's files: "012-propose-0-3f9a6c21d0b4".
[[nodiscard]] std::string mailbox_id(const Request& request);

}  // namespace cuco::llm
