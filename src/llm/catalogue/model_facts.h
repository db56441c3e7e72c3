// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a model can do and costs, and how a service is reached: data, from models.toml.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "llm/provider.h"

namespace cuco::llm {

enum class Protocol {
  Chat,       ///< OpenAI's chat completions, as most services speak it.
  Responses,  ///< OpenAI's responses.
  Messages,   ///< Anthropic's messages.
  Gemini,     ///< Google's generateContent.
  Converse,   ///< Amazon Bedrock's converse.
};

/// Dollars per million tokens.
struct Prices {
  double in = 0;
  double out = 0;
  double cached = 0;         ///< Prompt tokens read from the service's cache.
  double cache_written = 0;  ///< Prompt tokens written to it.
  bool operator==(const Prices&) const = default;
};

/// What the usage costs at these prices.
[[nodiscard]] double dollars_of(const Usage& usage, const Prices& prices);

struct ModelFacts {
  std::string service;  ///< Whose facts these are; empty: of any service.
  std::string pattern;  ///< A model's name; a '*' at its end stands for anything.
  bool temperature = true;
  bool seed = true;
  bool schema = true;                      ///< Can be held to a JSON schema.
  bool stream_usage = true;                ///< Accepts stream_options (chat).
  std::string token_field = "max_tokens";  ///< Or "max_completion_tokens" (chat).
  /// How the effort is said: "" (not at all), "reasoning_effort", "output_config",
  /// "thinking_budget" or "thinking_level".
  std::string effort;
  std::chrono::milliseconds silence{60'000};  ///< Without a byte for so long: the call is dead.
  int context = 0;                            ///< Tokens; 0: unknown.
  int most_answer = 0;                        ///< Tokens of one answer; 0: unknown.
  std::optional<Prices> prices;
  std::string dated;  ///< When the file's entries were written down.
};

/// How the key travels.
enum class KeyScheme {
  None,
  Bearer,  ///< "Authorization: Bearer KEY".
  Header,  ///< In a header of its own.
  SigV4,   ///< Not at all: the request is signed with it.
};

struct ServiceFacts {
  std::string name;
  Protocol protocol = Protocol::Chat;
  std::string url;   ///< The base; "{region}" is filled in.
  std::string path;  ///< Behind the base; "{model}" and "{api_version}" are filled in.
  KeyScheme key = KeyScheme::Bearer;
  std::string key_header;  ///< For KeyScheme::Header.
  std::string key_variable;
  bool key_required = true;
  std::map<std::string, std::string> headers;  ///< Sent with every request.
  std::string api_version;
  std::string region;
  std::string test_model;  ///< A cheap one, for `cuco llm test`.
  int in_flight = 4;       ///< Most calls at the same time.
  int per_minute = 0;      ///< Most calls started in a minute; 0: no limit.
};

}  // namespace cuco::llm
