// SPDX-License-Identifier: Apache-2.0
#include "llm/http/credentials.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "system/os/private_file.h"

namespace cuco::llm {
namespace {

constexpr std::size_t kShortest = 8;
constexpr std::size_t kMostKey = 8192;

/// The text is not repeated: it is a secret.
Result<void> check_key(std::string_view key, std::string_view where) {
  const bool clean = std::ranges::all_of(key, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (clean) return {};
  return Error{ErrorKind::InvalidInput,
               fmt::format("the key in {} has spaces or characters that no key has", where)};
}

/// "ID:SECRET" or "ID:SECRET:TOKEN", as one text has to hold all of it.
Result<Credentials> split_signing_key(std::string_view text, std::string_view where) {
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty() || parts[1].empty()) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} must hold ACCESS_ID:SECRET or ACCESS_ID:SECRET:TOKEN", where)};
  }
  return Credentials{std::string(parts[1]), std::string(parts[0]),
                     parts.size() == 3 ? std::string(parts[2]) : ""};
}

/// Amazon's own variables, unless the user names another one.
std::optional<Credentials> amazon_variables(const system::Environment& environment) {
  const auto id = environment.get("AWS_ACCESS_KEY_ID");
  const auto secret = environment.get("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret || id->empty() || secret->empty()) return std::nullopt;
  return Credentials{*secret, *id, environment.get("AWS_SESSION_TOKEN").value_or("")};
}

Error missing(const ServiceFacts& service, const std::string& variable) {
  const auto what = service.key == KeyScheme::SigV4 && variable == "AWS_SECRET_ACCESS_KEY"
                        ? std::string("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
                        : variable;
  return {ErrorKind::Unavailable,
          fmt::format("service '{}' has no key: set {}, or name a file with llm.key_file; "
                      "--proposer expert needs none",
                      service.name, what)};
}

}  // namespace

Result<Credentials> find_credentials(const ServiceFacts& service,
                                     const KeySources& sources,
                                     const system::Environment& environment) {
  if (service.key == KeyScheme::None) return Credentials{};
  const bool signs = service.key == KeyScheme::SigV4;
  if (signs && sources.variable.empty() && sources.file.empty()) {
    if (auto found = amazon_variables(environment)) return *std::move(found);
  }
  const std::string& variable = sources.variable.empty() ? service.key_variable : sources.variable;
  std::string where = fmt::format("variable {}", variable);
  std::string text;
  if (!signs || !sources.variable.empty()) {
    text = std::string(trim(environment.get(variable).value_or("")));
  }
  if (text.empty() && !sources.file.empty()) {
    where = fmt::format("'{}'", sources.file.string());
    auto kept = system::read_private_file(sources.file, kMostKey);
    if (!kept) return std::move(kept).error().while_doing("llm.key_file");
    text = *std::move(kept);
    text = std::string(trim(text));
  }
  if (text.empty()) {
    if (service.key_required) return missing(service, variable);
    return Credentials{};
  }
  CUCO_TRY(check_key(text, where));
  if (signs) return split_signing_key(text, where);
  return Credentials{.key = std::move(text)};
}

Scrubber::Scrubber(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& secret) { return secret.size() < kShortest; });
  // The longest first: one may be part of another.
  std::ranges::sort(secrets_, std::ranges::greater(), &std::string::size);
}

Scrubber::Scrubber(const Credentials& credentials)
    : Scrubber(std::vector<std::string>{credentials.key, credentials.session_token}) {}

std::string Scrubber::operator()(std::string text) const {
  for (const std::string& secret : secrets_) {
    for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), "[key]");
      at += 5;
    }
  }
  return text;
}

}  // namespace cuco::llm
