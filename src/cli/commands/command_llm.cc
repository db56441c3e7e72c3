// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/models/model_providers.h"
#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"
#include "llm/http/endpoint_provider.h"
#include "llm/protocol/model_protocol.h"
#include "llm/structured.h"
#include "system/os/environment.h"
#include "system/os/system_clock.h"

namespace cuco::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(120);
constexpr int kTokens = 2000;  // some models think before they say one word

/// Cheap to answer, and easy to check.
llm::Request test_request() {
  llm::Request request{
      .system = "You answer with one JSON object and nothing else.",
      .prompt = "Answer with the object {\"word\": \"cuco\", \"sum\": S}, where S is 17 + 25."};
  request.max_tokens = kTokens;
  request.effort = "low";
  request.schema = llm::AnswerSchema{
      "answer",
      R"({"type":"object","properties":{"word":{"type":"string"},"sum":{"type":"integer"}},)"
      R"("required":["word","sum"],"additionalProperties":false})"};
  request.deadline = kPatience;
  request.site.role = "test";
  request.stopped = [] { return InterruptScope::requested(); };
  return request;
}

/// What one call showed.
struct Finding {
  llm::Reply reply;
  bool structured = false;  ///< The answer is the object that was asked for.
  std::vector<std::string> missing;
};

Finding examine(llm::Reply reply, const llm::ModelFacts* facts) {
  Finding finding{.reply = std::move(reply)};
  const auto json = llm::read_structured(finding.reply.text);
  finding.structured =
      json && json->value("word", Json()) == Json("cuco") && json->value("sum", Json()) == Json(42);
  auto& missing = finding.missing;
  if (!finding.structured)
    missing.push_back("the answer is not the object that was asked for: " +
                      finding.reply.text.substr(0, 120));
  if (facts == nullptr) return finding;
  if (!finding.reply.streamed)
    missing.emplace_back("the service did not stream: a stalled answer is noticed late");
  if (finding.reply.usage.prompt == 0)
    missing.emplace_back("the service reported no tokens: budgets count what was reserved");
  if (!facts->prices)
    missing.emplace_back("no price is known: add one to your models.toml ([[model]], prices)");
  if (facts->context == 0)
    missing.emplace_back("the size of its context is not known: add it to your models.toml");
  if (!finding.reply.answered_by.empty())
    missing.push_back("another model answered: " + finding.reply.answered_by);
  return finding;
}

class LlmCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("WHAT", what_, "list: services and keys; test: one cheap call")
        .one_of({"list", "test"});
    arguments
        .positional("WHO", who_,
                    "SERVICE, SERVICE:MODEL, MODEL, command or mailbox (default: llm.model)")
        .optional()
        .completes(Completion::Nothing);
  }

  Result<ExitCode> run(Context& context) override {
    ModelOptions options = model_options(context.config);
    const auto environment = system::Environment::current();
    CUCO_TRY_ASSIGN(const auto catalogue, load_catalogue(options, environment));
    if (what_ == "list") return list(context, options, catalogue, environment);
    const InterruptScope interrupts;
    if (who_.starts_with("command") || who_.starts_with("mailbox"))
      return test_other(context, options);
    CUCO_TRY(choose_model(options, catalogue));
    CUCO_TRY_ASSIGN(llm::Endpoint endpoint,
                    find_endpoint(options.model, options, catalogue, environment));
    return test_endpoint(context, std::move(endpoint));
  }

 private:
  /// A service alone stands for its cheapest model.
  Result<void> choose_model(ModelOptions& options, const llm::Catalogue& catalogue) const {
    if (who_.empty()) return {};
    const auto service = catalogue.service(who_);
    options.model = who_;
    if (!service) return {};
    if (service->test_model.empty()) {
      return Error{
          ErrorKind::InvalidInput,
          fmt::format("service '{}' has models of your own: name one, as {}:MODEL", who_, who_)};
    }
    options.model = fmt::format("{}:{}", who_, service->test_model);
    return {};
  }

  static Result<ExitCode> list(Context& context,
                               const ModelOptions& options,
                               const llm::Catalogue& catalogue,
                               const system::Environment& environment) {
    Table table;
    Json all = Json::array();
    for (const llm::ServiceFacts& service : catalogue.services()) {
      const bool first = service.name == options.service;
      const llm::KeySources sources =
          first ? llm::KeySources{options.key_variable, options.key_file} : llm::KeySources{};
      const auto found = llm::find_credentials(service, sources, environment);
      const std::string key = !found               ? "no key (" + service.key_variable + ")"
                              : found->key.empty() ? "needs none"
                                                   : "has a key";
      table.row({context.terminal.styled(Style::Accent, service.name),
                 std::string(llm::name_of(service.protocol)), key,
                 context.terminal.styled(Style::Dim, service.url)});
      all.push_back({{"service", service.name},
                     {"protocol", llm::name_of(service.protocol)},
                     {"url", service.url},
                     {"key_variable", service.key_variable},
                     {"usable", found.has_value()}});
    }
    context.terminal.write(context.json ? to_text(all) + "\n" : table.text());
    return ExitCode::Done;
  }

  static Result<ExitCode> test_endpoint(Context& context, llm::Endpoint endpoint) {
    system::SystemClock clock;
    const llm::ModelFacts facts = endpoint.facts;
    CUCO_TRY_ASSIGN(const auto http, llm::http_request(endpoint, test_request(), clock.wall()));
    const std::string protocol(llm::name_of(endpoint.service.protocol));
    llm::EndpointProvider provider(std::move(endpoint), {.attempts = 3}, clock);
    context.terminal.progress(fmt::format("asking {}:{} …", provider.name(), provider.model()));
    auto reply = provider.complete(test_request());
    context.terminal.clear_progress();
    if (!reply) return std::move(reply).error().while_doing(http.url);
    return report(context, provider, examine(*std::move(reply), &facts), &facts,
                  fmt::format("{} at {}", protocol, http.url));
  }

  Result<ExitCode> test_other(Context& context, const ModelOptions& options) const {
    system::SystemClock clock;
    llm::Gates gates(clock);
    CUCO_TRY_ASSIGN(const auto provider, make_provider(who_, options, gates, clock));
    context.terminal.progress(fmt::format("asking {} …", who_));
    auto reply = provider->complete(test_request());
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(llm::Reply said, std::move(reply));
    return report(context, *provider, examine(std::move(said), nullptr), nullptr, who_);
  }

  static Result<ExitCode> report(Context& context,
                                 const llm::Provider& provider,
                                 const Finding& finding,
                                 const llm::ModelFacts* facts,
                                 const std::string& way) {
    context.terminal.write(context.json ? as_json(provider, finding, way)
                                        : as_text(context.terminal, provider, finding, facts, way));
    return finding.structured ? ExitCode::Done : ExitCode::JobFailed;
  }

  static std::string as_text(const Terminal& terminal,
                             const llm::Provider& provider,
                             const Finding& finding,
                             const llm::ModelFacts* facts,
                             const std::string& way) {
    const llm::Reply& reply = finding.reply;
    Table table;
    table.row({terminal.styled(Style::Bold, provider.name() + ":" + provider.model()), way});
    table.row({"answer after",
               fmt::format("{} (first byte {}, {} attempt{})", human_seconds(reply.seconds),
                           human_seconds(reply.first_byte_seconds), reply.attempts,
                           reply.attempts == 1 ? "" : "s")});
    if (facts != nullptr) {
      table.row({"streaming", reply.streamed ? "yes" : "no"});
      table.row({"structured", !finding.structured ? "no"
                               : facts->schema     ? "yes, by schema"
                                                   : "yes, read from its text"});
      table.row(
          {"tokens", fmt::format("{} in ({} cached), {} out ({} reasoning)", reply.usage.prompt,
                                 reply.usage.cached, reply.usage.answer, reply.usage.reasoning)});
      table.row({"price", reply.dollars < 0 ? "unknown"
                                            : fmt::format("${:.6f} (prices of {})", reply.dollars,
                                                          facts->dated)});
    } else {
      table.row({"structured", finding.structured ? "yes, read from its text" : "no"});
    }
    for (const std::string& word : finding.missing)
      table.row({"missing", word});
    return table.text();
  }

  static std::string as_json(const llm::Provider& provider,
                             const Finding& finding,
                             const std::string& way) {
    const llm::Reply& reply = finding.reply;
    Json object{{"service", provider.name()},
                {"model", provider.model()},
                {"way", way},
                {"seconds", reply.seconds},
                {"first_byte_seconds", reply.first_byte_seconds},
                {"attempts", reply.attempts},
                {"streamed", reply.streamed},
                {"structured", finding.structured},
                {"prompt_tokens", reply.usage.prompt},
                {"answer_tokens", reply.usage.answer},
                {"cached_tokens", reply.usage.cached},
                {"reasoning_tokens", reply.usage.reasoning},
                {"missing", finding.missing}};
    if (reply.dollars >= 0) object["dollars"] = reply.dollars;
    return to_text(object) + "\n";
  }

  std::string what_;
  std::string who_;
};

}  // namespace

std::unique_ptr<Command> make_llm_command() {
  return std::make_unique<LlmCommand>();
}

}  // namespace cuco::cli
