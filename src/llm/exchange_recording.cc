// SPDX-License-Identifier: Apache-2.0
#include "llm/exchange_recording.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "llm/text_difference.h"

namespace cuco::llm {
namespace {

constexpr int kFormat = 2;

/// The identity of a request. Temperature and limits are left out: changing them must not lose a
/// recording.
std::string question_of(const Request& request, std::string_view model) {
  const Json asked{{"model", model},
                   {"system", request.system},
                   {"prompt", request.prompt},
                   {"seed", request.seed}};
  return to_hex(sha256(to_text(asked)));
}

Json usage_json(const Usage& usage) {
  return {{"prompt", usage.prompt},
          {"answer", usage.answer},
          {"cached", usage.cached},
          {"cache_written", usage.cache_written},
          {"reasoning", usage.reasoning}};
}

Usage usage_of(const Json& line, const char* key) {
  const Json json = line.value(key, Json::object());
  return {json.value("prompt", 0), json.value("answer", 0), json.value("cached", 0),
          json.value("cache_written", 0), json.value("reasoning", 0)};
}

Reply reply_of(const Json& line) {
  Reply reply{.text = line.value("answer", ""), .usage = usage_of(line, "usage")};
  reply.seconds = line.value("seconds", 0.0);
  reply.first_byte_seconds = line.value("first_byte_seconds", 0.0);
  reply.answered_by = line.value("answered_by", "");
  reply.streamed = line.value("streamed", false);
  reply.cut_off = line.value("cut_off", false);
  reply.attempts = line.value("attempts", 1);
  reply.lost = usage_of(line, "lost");
  reply.dollars = line.value("dollars", -1.0);
  // The first format.
  if (line.contains("prompt_tokens")) {
    reply.usage.prompt = line.value("prompt_tokens", 0);
    reply.usage.answer = line.value("answer_tokens", 0);
  }
  return reply;
}

std::string describe(const CallSite& site) {
  return fmt::format("decision {}, role {}, turn {}", site.decision,
                     site.role.empty() ? "-" : site.role, site.turn);
}

bool is_same_call(const CallSite& a, const CallSite& b) {
  return a.decision == b.decision && a.role == b.role && a.turn == b.turn;
}

}  // namespace

Result<void> begin_recording(const system::Path& file, std::string_view secret) {
  return system::append_to_file(file,
                                to_text(Json{{"recording", kFormat}, {"secret", secret}}) + "\n");
}

Result<Reply> RecordingProvider::complete(const Request& request) {
  CUCO_TRY_ASSIGN(Reply reply, inner_->complete(request));
  const Json line{{"run", request.site.run},
                  {"decision", request.site.decision},
                  {"role", request.site.role},
                  {"turn", request.site.turn},
                  {"question", question_of(request, model())},
                  {"provider", name()},
                  {"model", model()},
                  {"answered_by", reply.answered_by},
                  {"seed", request.seed},
                  {"system", request.system},
                  {"prompt", request.prompt},
                  {"answer", reply.text},
                  {"usage", usage_json(reply.usage)},
                  {"lost", usage_json(reply.lost)},
                  {"dollars", reply.dollars},
                  {"attempts", reply.attempts},
                  {"streamed", reply.streamed},
                  {"cut_off", reply.cut_off},
                  {"first_byte_seconds", reply.first_byte_seconds},
                  {"seconds", reply.seconds}};
  CUCO_TRY(system::append_to_file(file_, to_text(line) + "\n"));
  return reply;
}

Result<void> Recording::add_line(std::string_view line) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(line));
  try {
    if (json.contains("recording")) {
      if (json.at("recording").get<int>() > kFormat)
        return Error{ErrorKind::InvalidInput, "it was written by a newer cuco"};
      secret_ = json.value("secret", "");
      return {};
    }
    Entry entry;
    CUCO_TRY_ASSIGN(entry.question, string_member(json, "question"));
    entry.site = {json.value("run", ""), json.value("decision", -1), json.value("role", ""),
                  json.value("turn", 0)};
    entry.who = {json.value("provider", ""), json.value("model", "")};
    entry.system = json.value("system", "");
    entry.prompt = json.value("prompt", "");
    entry.seed = json.value("seed", std::uint64_t{0});
    entry.reply = reply_of(json);
    if (std::ranges::find(models_, entry.who) == models_.end()) models_.push_back(entry.who);
    entries_.push_back(std::move(entry));
    return {};
  } catch (const Json::exception& error) {
    return Error{ErrorKind::InvalidInput, error.what()};
  }
}

Result<std::shared_ptr<Recording>> Recording::open(const system::Path& file) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file));
  auto recording = std::make_shared<Recording>();
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto added = recording->add_line(line);
    if (!added) {
      return std::move(added).error().while_doing(
          fmt::format("recording '{}' line {}", file.string(), number));
    }
  }
  return recording;
}

Result<Reply> Recording::answer(const Request& request, const Who& who) {
  const std::lock_guard lock(mutex_);
  const std::string question = question_of(request, who.model);
  Entry* found = nullptr;
  for (Entry& entry : entries_) {
    if (entry.used || !(entry.who == who) || entry.question != question) continue;
    const bool here = is_same_call(entry.site, request.site);
    // The same question asked again gets the next recorded answer, in order.
    if (found == nullptr || here) found = &entry;
    if (here) break;
  }
  if (found == nullptr) return nothing_for(request, who);
  found->used = true;
  return found->reply;
}

Error Recording::nothing_for(const Request& request, const Who& who) const {
  const auto what =
      fmt::format("the recording has no answer to this prompt ({})", describe(request.site));
  const auto recorded = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.who == who && is_same_call(entry.site, request.site);
  });
  if (recorded == entries_.end()) {
    return {ErrorKind::NotFound,
            fmt::format("{}; it has {} answers of {}:{}, none for this call", what,
                        std::ranges::count(entries_, who, &Entry::who), who.provider, who.model)};
  }
  if (recorded->prompt == request.prompt && recorded->system == request.system) {
    return {ErrorKind::NotFound,
            fmt::format("{}: {}", what,
                        recorded->seed == request.seed
                            ? "all recorded answers to it were given"
                            : fmt::format("it was recorded with seed {}, not {}", recorded->seed,
                                          request.seed))};
  }
  const bool in_system = recorded->system != request.system;
  return {ErrorKind::NotFound,
          fmt::format("{}; its {} has changed since it was recorded:\n{}", what,
                      in_system ? "system text" : "text",
                      in_system ? first_difference(recorded->system, request.system)
                                : first_difference(recorded->prompt, request.prompt))};
}

}  // namespace cuco::llm
