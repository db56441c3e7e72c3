// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recordings: every exchange with a provider in a file, and a provider that answers from one,
/// offline and bit for bit.
///
/// One JSON object a line. First what the run stands on: {"recording": 2, "secret": …}. Then the
/// exchanges, of any number of models: run, decision, role and turn say which call it was; the
/// "question" is a hash of model, system text, prompt and seed; the texts are there to be compared.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "llm/provider.h"
#include "system/os/files.h"

namespace cuco::llm {

/// Begins a recording, or goes on with one. `secret` is that of the judge: with it verdicts, and so
/// prompts, are the same on every machine.
[[nodiscard]] Result<void> begin_recording(const system::Path& file, std::string_view secret);

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

/// A recording that was read. Each answer is given once.
class Recording {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Recording>> open(const system::Path& file);

  struct Who {
    std::string provider;
    std::string model;
    bool operator==(const Who&) const = default;
  };
  /// Who answers in it, in the order of their first words.
  [[nodiscard]] const std::vector<Who>& models() const { return models_; }
  /// Empty: recorded without one.
  [[nodiscard]] const std::string& secret() const { return secret_; }

  /// The recorded answer to this very question, at this call if it was asked at several; NotFound
  /// shows where the prompt differs from the one that was recorded for this call.
  [[nodiscard]] Result<Reply> answer(const Request& request, const Who& who);

 private:
  struct Entry {
    CallSite site;
    Who who;
    std::string question;
    std::string system;
    std::string prompt;
    std::uint64_t seed = 0;
    Reply reply;
    bool used = false;
  };
  [[nodiscard]] Result<void> add_line(std::string_view line);
  [[nodiscard]] Error nothing_for(const Request& request, const Who& who) const;

  std::string secret_;
  std::vector<Who> models_;
  std::vector<Entry> entries_;
  std::mutex mutex_;
};

class ReplayProvider final : public Provider {
 public:
  ReplayProvider(std::shared_ptr<Recording> recording, Recording::Who who)
      : recording_(std::move(recording)), who_(std::move(who)) {}

  [[nodiscard]] std::string name() const override { return who_.provider; }
  [[nodiscard]] std::string model() const override { return who_.model; }
  Result<Reply> complete(const Request& request) override {
    return recording_->answer(request, who_);
  }

 private:
  std::shared_ptr<Recording> recording_;
  Recording::Who who_;
};

}  // namespace cuco::llm
