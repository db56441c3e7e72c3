// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/model_protocol.h"

#include <array>

#include "base/assert.h"
#include "llm/protocol/chat.h"
#include "llm/protocol/converse.h"
#include "llm/protocol/gemini.h"
#include "llm/protocol/messages.h"
#include "llm/protocol/responses.h"

namespace cuco::llm {
namespace {

template <typename Kind>
std::unique_ptr<Answer> make() {
  return std::make_unique<Kind>();
}

struct Row {
  Protocol protocol;
  std::string_view name;
  std::string_view path;
  std::string (*body)(const Request&, const ModelFacts&, std::string_view model);
  std::unique_ptr<Answer> (*answer)();
};

constexpr std::array kRows = {
    Row{Protocol::Chat, "chat", "/chat/completions", chat_body, make<ChatAnswer>},
    Row{Protocol::Responses, "responses", "/responses", responses_body, make<ResponsesAnswer>},
    Row{Protocol::Messages, "messages", "/messages", messages_body, make<MessagesAnswer>},
    Row{Protocol::Gemini, "gemini", "/models/{model}:streamGenerateContent?alt=sse", gemini_body,
        make<GeminiAnswer>},
    Row{Protocol::Converse, "converse", "/model/{model}/converse-stream", converse_body,
        make<ConverseAnswer>},
};

const Row& row_of(Protocol protocol) {
  const auto& row = kRows.at(static_cast<std::size_t>(protocol));
  CUCO_ASSERT(row.protocol == protocol);
  return row;
}

}  // namespace

std::string_view name_of(Protocol protocol) {
  return row_of(protocol).name;
}

std::optional<Protocol> parse_protocol(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.protocol;
  }
  return std::nullopt;
}

std::string_view default_path(Protocol protocol) {
  return row_of(protocol).path;
}

std::string request_body(Protocol protocol,
                         const Request& request,
                         const ModelFacts& facts,
                         std::string_view model) {
  return row_of(protocol).body(request, facts, model);
}

std::unique_ptr<Answer> make_answer(Protocol protocol) {
  return row_of(protocol).answer();
}

}  // namespace cuco::llm
