// SPDX-License-Identifier: Apache-2.0
#include "cli/models/model_providers.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "base/words.h"
#include "llm/command_provider.h"
#include "llm/guards/breaker.h"
#include "llm/guards/fallback.h"
#include "llm/http/endpoint_provider.h"
#include "llm/mailbox_provider.h"
#include "system/os/environment.h"
#include "system/os/private_file.h"

namespace cuco::cli {
namespace {

constexpr std::string_view kCommand = "command";
constexpr std::string_view kMailbox = "mailbox";
constexpr std::size_t kMostCatalogue = std::size_t{1} << 20U;

using Made = Result<std::unique_ptr<llm::Provider>>;

/// "command:x y" gives "x y", "command" nothing; false for any other word.
bool is_kind(std::string_view proposer, std::string_view kind, std::string& rest) {
  if (!proposer.starts_with(kind)) return false;
  proposer.remove_prefix(kind.size());
  if (!proposer.empty() && proposer.front() != ':') return false;
  rest = proposer.empty() ? "" : proposer.substr(1);
  return true;
}

Result<void> add_file(llm::Catalogue& catalogue, const system::Path& file) {
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(file, kMostCatalogue));
  return catalogue.add(text, file.string());
}

Result<void> check_command(const std::string& program) {
  std::error_code code;
  const bool is_path = program.find('/') != std::string::npos;
  const auto path = system::Environment::current().get("PATH").value_or("");
  if (is_path ? std::filesystem::is_regular_file(program, code)
              : system::find_program(program, path).has_value())
    return {};
  return Error{ErrorKind::NotFound,
               fmt::format("proposer 'command': no such program: {}", program)};
}

Made make_command(const std::string& words, const ModelOptions& options) {
  llm::CommandLine command{options.command, options.command_environment};
  if (!words.empty()) {
    auto split = split_words(words);
    if (!split) return std::move(split).error().while_doing("--proposer command:" + words);
    command.words = *std::move(split);
  }
  if (command.words.empty()) {
    return Error{ErrorKind::InvalidInput,
                 "no command given: use --proposer command:PROGRAM, or set llm.command in "
                 "cuco.toml"};
  }
  CUCO_TRY(check_command(command.words.front()));
  return std::unique_ptr<llm::Provider>(std::make_unique<llm::CommandProvider>(std::move(command)));
}

/// A service behind its limits and its breaker.
std::unique_ptr<llm::Provider> guarded(llm::Endpoint endpoint,
                                       bool is_last,
                                       llm::Gates& gates,
                                       Clock& clock) {
  auto gate = gates.of(endpoint.service);
  std::unique_ptr<llm::Provider> made =
      std::make_unique<llm::EndpointProvider>(std::move(endpoint), llm::RetryPolicy{}, clock);
  made = std::make_unique<llm::GatedProvider>(std::move(made), std::move(gate), clock);
  return std::make_unique<llm::BreakerProvider>(std::move(made),
                                                llm::BreakerPolicy{.waits = is_last}, clock);
}

/// The model and what stands in for it.
Made make_chain(const ModelOptions& options, llm::Gates& gates, Clock& clock) {
  const auto environment = system::Environment::current();
  CUCO_TRY_ASSIGN(const llm::Catalogue catalogue, load_catalogue(options, environment));
  std::vector<std::string> names = {options.model};
  names.insert(names.end(), options.fallback.begin(), options.fallback.end());
  std::vector<std::unique_ptr<llm::Provider>> chain;
  for (const std::string& name : names) {
    CUCO_TRY_ASSIGN(llm::Endpoint endpoint, find_endpoint(name, options, catalogue, environment));
    CUCO_TRY(llm::url_of(endpoint));
    chain.push_back(guarded(std::move(endpoint), chain.size() + 1 == names.size(), gates, clock));
  }
  if (chain.size() == 1) return std::move(chain.front());
  return std::unique_ptr<llm::Provider>(std::make_unique<llm::FallbackProvider>(std::move(chain)));
}

}  // namespace

Result<llm::Catalogue> load_catalogue(const ModelOptions& options,
                                      const system::Environment& environment) {
  llm::Catalogue catalogue = llm::Catalogue::shipped();
  const auto home = environment.get("HOME");
  const auto base = environment.get("XDG_CONFIG_HOME");
  if (base || home) {
    const system::Path own =
        (base ? system::Path(*base) : system::Path(*home) / ".config") / "cuco/models.toml";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(own, ignored)) CUCO_TRY(add_file(catalogue, own));
  }
  if (!options.models_file.empty()) CUCO_TRY(add_file(catalogue, options.models_file));
  return catalogue;
}

Result<llm::Endpoint> find_endpoint_without_key(std::string_view name,
                                                const ModelOptions& options,
                                                const llm::Catalogue& catalogue) {
  if (name.empty()) {
    return Error{ErrorKind::InvalidInput,
                 "no model given: use --model NAME, or set llm.model in cuco.toml"};
  }
  const auto asked = llm::parse_model_name(name, catalogue, options.service);
  if (asked.model.empty()) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("'{}' names no model: use SERVICE:MODEL", name)};
  }
  llm::Endpoint endpoint;
  CUCO_TRY_ASSIGN(endpoint.service, catalogue.service(asked.service));
  endpoint.facts = catalogue.model(asked.service, asked.model);
  endpoint.model = asked.model;
  const auto first = llm::parse_model_name(options.model, catalogue, options.service);
  if (!options.endpoint.empty() && asked.service == first.service) {
    endpoint.service.url = options.endpoint;
    // A service of one's own in its place may want no key.
    endpoint.service.key_required = false;
  }
  return endpoint;
}

Result<llm::Endpoint> find_endpoint(std::string_view name,
                                    const ModelOptions& options,
                                    const llm::Catalogue& catalogue,
                                    const system::Environment& environment) {
  CUCO_TRY_ASSIGN(llm::Endpoint endpoint, find_endpoint_without_key(name, options, catalogue));
  const auto first = llm::parse_model_name(options.model, catalogue, options.service);
  llm::KeySources sources;
  // A key that was named is that of the first service: it must not be sent to another one.
  if (endpoint.service.name == first.service) sources = {options.key_variable, options.key_file};
  auto credentials = llm::find_credentials(endpoint.service, sources, environment);
  if (!credentials) {
    const auto colon = name.find(':');
    // Names of models may have a colon, too; whoever mistyped a service has to be told.
    if (endpoint.model == name && colon != std::string_view::npos) {
      return std::move(credentials)
          .error()
          .while_doing(fmt::format("there is no service '{}', so '{}' is a model of llm.service",
                                   name.substr(0, colon), name));
    }
    return std::move(credentials).error();
  }
  endpoint.credentials = *std::move(credentials);
  // A key is in this process from here on: it must not get into a core file.
  if (!endpoint.credentials.key.empty()) system::forbid_memory_pictures();
  return endpoint;
}

Made make_provider(const std::string& proposer,
                   const ModelOptions& options,
                   llm::Gates& gates,
                   Clock& clock) {
  std::string rest;
  if (proposer == "model") return make_chain(options, gates, clock);
  if (is_kind(proposer, kCommand, rest)) return make_command(rest, options);
  if (is_kind(proposer, kMailbox, rest)) {
    auto mailbox =
        std::make_unique<llm::MailboxProvider>(rest.empty() ? options.mailbox : rest, clock);
    CUCO_TRY(mailbox->prepare());
    return std::unique_ptr<llm::Provider>(std::move(mailbox));
  }
  const std::vector<std::string> known = {"expert", "tuner", "model", "command:PROGRAM",
                                          "mailbox:FOLDER"};
  const auto near = nearest(proposer, known);
  return Error{ErrorKind::InvalidInput,
               fmt::format("unknown proposer '{}'{}; use expert, tuner, model, command:PROGRAM "
                           "or mailbox:FOLDER",
                           proposer, near ? fmt::format(" (did you mean '{}'?)", *near) : "")};
}

Result<double> dollars_per_token(const ModelOptions& options) {
  CUCO_TRY_ASSIGN(const llm::Catalogue catalogue,
                  load_catalogue(options, system::Environment::current()));
  std::vector<std::string> names = {options.model};
  names.insert(names.end(), options.fallback.begin(), options.fallback.end());
  double most = 0;
  for (const std::string& name : names) {
    CUCO_TRY_ASSIGN(const llm::Endpoint endpoint,
                    find_endpoint_without_key(name, options, catalogue));
    const auto& prices = endpoint.facts.prices;
    if (!prices) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("llm.dollar_budget: the price of {} is not known; add it to "
                               "models.toml, or use llm.token_budget",
                               name)};
    }
    most = std::max({most, prices->in, prices->out, prices->cache_written});
  }
  return most / 1e6;
}

}  // namespace cuco::cli
