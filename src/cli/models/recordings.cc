// SPDX-License-Identifier: Apache-2.0
#include "cli/models/recordings.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "llm/exchange_recording.h"
#include "system/os/kernel.h"

namespace cuco::cli {
namespace {

constexpr std::size_t kSecretBytes = 32;

/// Who answers in place of a proposer: the model that the user names, or the only one that there
/// is.
Result<llm::Recording::Who> replayed(const llm::Recording& recording,
                                     const ModelOptions& options,
                                     const std::string& file) {
  const auto& models = recording.models();
  std::vector<std::string> names;
  for (const auto& who : models) {
    names.push_back(who.provider + ":" + who.model);
    if (options.model == who.model || options.model == names.back()) return who;
  }
  if (models.size() == 1) return models.front();
  if (models.empty()) {
    return Error{ErrorKind::InvalidInput, fmt::format("recording '{}' has no answers", file)};
  }
  return Error{ErrorKind::InvalidInput,
               fmt::format("recording '{}' has answers of several models: choose one with --model: "
                           "{}",
                           file, join(names, ", "))};
}

}  // namespace

Result<std::string> settle_secret(const RecordingFiles& files) {
  if (!files.record.empty() && !files.replay.empty()) {
    return Error{ErrorKind::InvalidInput, "--record and --replay exclude each other"};
  }
  if (!files.replay.empty()) {
    CUCO_TRY_ASSIGN(const auto recording, llm::Recording::open(files.replay));
    return recording->secret();
  }
  if (files.record.empty()) return std::string();
  // Never the machine's: a recording is made to be passed on.
  CUCO_TRY_ASSIGN(const std::string bytes, system::random_bytes(kSecretBytes));
  std::string secret = to_hex(sha256(bytes));
  CUCO_TRY(llm::begin_recording(files.record, secret));
  return secret;
}

Result<std::unique_ptr<llm::Provider>> make_recorded(const std::string& proposer,
                                                     const ModelOptions& options,
                                                     const RecordingFiles& files,
                                                     llm::Gates& gates,
                                                     Clock& clock) {
  if (!files.replay.empty()) {
    CUCO_TRY_ASSIGN(auto recording, llm::Recording::open(files.replay));
    CUCO_TRY_ASSIGN(const auto who, replayed(*recording, options, files.replay));
    return std::unique_ptr<llm::Provider>(
        std::make_unique<llm::ReplayProvider>(std::move(recording), who));
  }
  CUCO_TRY_ASSIGN(auto provider, make_provider(proposer, options, gates, clock));
  if (files.record.empty()) return provider;
  return std::unique_ptr<llm::Provider>(
      std::make_unique<llm::RecordingProvider>(std::move(provider), files.record));
}

}  // namespace cuco::cli
