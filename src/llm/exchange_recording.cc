// SPDX-License-Identifier: Apache-2.0
#include "llm/exchange_recording.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "system/os/files.h"

namespace cuco::llm {
namespace {

/// The identity of a request. Temperature and limits are left out: changing them must not lose a
/// recording.
std::string question(const Request& request, std::string_view model) {
  const Json asked{{"model", model},
                   {"system", request.system},
                   {"prompt", request.prompt},
                   {"seed", request.seed}};
  return to_hex(sha256(to_text(asked)));
}

}  // namespace

Result<Reply> RecordingProvider::complete(const Request& request) {
  CUCO_TRY_ASSIGN(Reply reply, inner_->complete(request));
  const Json line{{"question", question(request, model())},
                  {"provider", name()},
                  {"model", model()},
                  {"seed", request.seed},
                  {"system", request.system},
                  {"prompt", request.prompt},
                  {"answer", reply.text},
                  {"prompt_tokens", reply.prompt_tokens},
                  {"answer_tokens", reply.answer_tokens},
                  {"seconds", reply.seconds}};
  CUCO_TRY(system::append_to_file(file_, to_text(line) + "\n"));
  return reply;
}

Result<std::unique_ptr<ReplayProvider>> ReplayProvider::open(const system::Path& file) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  std::unique_ptr<ReplayProvider> replay(new ReplayProvider);
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto json = parse_json(line);
    auto key =
        json ? string_member(*json, "question") : Result<std::string>(std::move(json).error());
    if (!key) {
      return std::move(key).error().while_doing(
          fmt::format("recording '{}' line {}", file.string(), number));
    }
    try {
      replay->name_ = json->value("provider", "");
      replay->model_ = json->value("model", "");
      replay->answers_[*key].push_back({.text = json->value("answer", ""),
                                        .prompt_tokens = json->value("prompt_tokens", 0),
                                        .answer_tokens = json->value("answer_tokens", 0),
                                        .seconds = json->value("seconds", 0.0)});
    } catch (const Json::exception& error) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("recording '{}' line {}: {}", file.string(), number, error.what())};
    }
  }
  return replay;
}

Result<Reply> ReplayProvider::complete(const Request& request) {
  const auto found = answers_.find(question(request, model_));
  if (found == answers_.end() || found->second.empty()) {
    return Error{
        ErrorKind::NotFound,
        "the recording has no answer to this prompt; the prompt has changed since it was recorded"};
  }
  // The same question asked again gets the next recorded answer, in order.
  auto reply = std::move(found->second.front());
  found->second.pop_front();
  return reply;
}

}  // namespace cuco::llm
