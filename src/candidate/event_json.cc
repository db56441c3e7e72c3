// SPDX-License-Identifier: Apache-2.0
#include "candidate/event_json.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cuco {
namespace program {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(File, path, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Source, files)
}  // namespace program

namespace design {
// ADL needs these in the type's namespace. The text form is the stored form: it reads in any tool.
inline void to_json(nlohmann::json& json, const Directive& directive) {
  json = to_text(directive);
}
inline void from_json(const nlohmann::json& json, Directive& directive) {
  auto parsed = parse_directive(json.get<std::string>());
  if (!parsed) throw std::invalid_argument(parsed.error().message());
  directive = *parsed;
}
}  // namespace design

namespace candidate {
namespace {
using Json = nlohmann::json;

/// JSON has no NaN or infinity, and a wrong result is often one.
Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double json_number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.is_string() ? json.get<std::string>() : std::string();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

template <typename T>
std::optional<T> optional_field(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->template get<T>();
}
}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Site, file, line, kernel, rank, block, thread)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PhaseTime, phase, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HotSpot, where, share, what)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ShapeTime,
                                                shape,
                                                seconds,
                                                baseline_seconds,
                                                bound_seconds,
                                                limited_by,
                                                limits,
                                                phases,
                                                hot_spots)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProposalRejected, reason, detail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ScreenRejected, rule, reason, where)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BuildFailed, message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Crashed, reason, shape, where)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TimedOut, stage, limit_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DeadLock, shape, waits)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Quarantined, seconds, bound_seconds, shape)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Scored,
                                                seconds,
                                                baseline_seconds,
                                                bound_seconds,
                                                score,
                                                predicted,
                                                hardware,
                                                shapes,
                                                checked_shapes,
                                                checked_hidden_shapes,
                                                checked_schedules)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    RunStarted, workload, seed, target, hardware, options)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepDone, step, ok, detail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    Exchange, provider, model, prompt, answer, prompt_tokens, answer_tokens, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Exchanged, candidate, exchange)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BestChanged, candidate, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RunFinished, reason)

inline void to_json(Json& json, const Finding& finding) {
  json = {{"kind", finding.kind},
          {"message", finding.message},
          {"where", finding.where},
          {"hint", finding.hint}};
  if (finding.other) json["other"] = *finding.other;
}
inline void from_json(const Json& json, Finding& finding) {
  finding.kind = json.value("kind", "");
  finding.message = json.value("message", "");
  finding.where = json.value("where", Site{});
  finding.hint = json.value("hint", "");
  finding.other = optional_field<Site>(json, "other");
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Findings, findings, schedule)

inline void to_json(Json& json, const WrongResult& wrong) {
  json = {{"shape", wrong.shape},
          {"schedule", wrong.schedule},
          {"output", wrong.output},
          {"iteration", wrong.iteration},
          {"rank", wrong.rank},
          {"index", wrong.index},
          {"expected", number_json(wrong.expected)},
          {"actual", number_json(wrong.actual)},
          {"wrong", wrong.wrong},
          {"total", wrong.total},
          {"note", wrong.note},
          {"findings", wrong.findings}};
}
inline void from_json(const Json& json, WrongResult& wrong) {
  wrong.shape = json.value("shape", "");
  wrong.schedule = json.value("schedule", "");
  wrong.output = json.value("output", "");
  wrong.iteration = json.value("iteration", 0);
  wrong.rank = json.value("rank", -1);
  wrong.index = json.value("index", std::int64_t{-1});
  wrong.expected = json_number(json.value("expected", Json(0.0)));
  wrong.actual = json_number(json.value("actual", Json(0.0)));
  wrong.wrong = json.value("wrong", std::int64_t{0});
  wrong.total = json.value("total", std::int64_t{0});
  wrong.note = json.value("note", "");
  wrong.findings = json.value("findings", std::vector<Finding>{});
}

inline void to_json(Json& json, const Lineage& lineage) {
  json = {{"proposer", lineage.proposer},
          {"island", lineage.island},
          {"phase", lineage.phase},
          {"inspirations", lineage.inspirations},
          {"because", lineage.because}};
  if (lineage.parent) json["parent"] = *lineage.parent;
}
inline void from_json(const Json& json, Lineage& lineage) {
  lineage.proposer = json.value("proposer", "");
  lineage.island = json.value("island", "");
  lineage.phase = json.value("phase", "");
  lineage.inspirations = json.value("inspirations", std::vector<Number>{});
  lineage.because = json.value("because", "");
  lineage.parent = optional_field<Number>(json, "parent");
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    Candidate, number, source, directive, lineage, code_hash)

inline void to_json(Json& json, const Proposed& proposed) {
  json = {{"candidate", proposed.candidate}};
  if (proposed.rejected) json["rejected"] = *proposed.rejected;
}
inline void from_json(const Json& json, Proposed& proposed) {
  proposed.candidate = json.at("candidate").get<Candidate>();
  proposed.rejected = optional_field<ProposalRejected>(json, "rejected");
}

namespace {

Json outcome_json(const Outcome& outcome) {
  Json json = std::visit([](const auto& value) { return Json(value); }, outcome);
  json["verdict"] = verdict(outcome);
  return json;
}

/// Tries the alternatives of a variant by their stable word.
template <typename Variant, typename WordOf, std::size_t Index = 0>
Variant variant_from(std::string_view word, const Json& json, WordOf word_of) {
  if constexpr (Index == std::variant_size_v<Variant>) {
    throw std::invalid_argument(fmt::format("unknown kind '{}'", word));
  } else {
    using Alternative = std::variant_alternative_t<Index, Variant>;
    if (word_of(Variant(Alternative{})) == word) return json.get<Alternative>();
    return variant_from<Variant, WordOf, Index + 1>(word, json, word_of);
  }
}

Outcome outcome_from(const Json& json) {
  return variant_from<Outcome>(json.at("verdict").get<std::string>(), json,
                               [](const Outcome& outcome) { return verdict(outcome); });
}

Fidelity fidelity_from(const std::string& word) {
  for (const auto fidelity : {Fidelity::Quick, Fidelity::Standard, Fidelity::Final}) {
    if (name(fidelity) == word) return fidelity;
  }
  throw std::invalid_argument(fmt::format("unknown fidelity '{}'", word));
}
}  // namespace

inline void to_json(Json& json, const Evaluated& evaluated) {
  json = {{"candidate", evaluated.candidate},
          {"fidelity", name(evaluated.fidelity)},
          {"outcome", outcome_json(evaluated.outcome)},
          {"wall_seconds", evaluated.wall_seconds}};
}
inline void from_json(const Json& json, Evaluated& evaluated) {
  evaluated.candidate = json.value("candidate", 0);
  evaluated.fidelity = fidelity_from(json.value("fidelity", "quick"));
  evaluated.outcome = outcome_from(json.at("outcome"));
  evaluated.wall_seconds = json.value("wall_seconds", 0.0);
}

namespace {

/// Sources are arbitrary bytes; what is not UTF-8 is replaced rather than refused.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename Parse>
auto guarded(std::string_view what, Parse parse) -> Result<decltype(parse())> {
  try {
    return parse();
  } catch (const std::exception& error) {
    return Error{ErrorKind::Protocol, fmt::format("{}: {}", what, error.what())};
  }
}

}  // namespace

std::string_view kind(const EventBody& body) {
  struct Kind {
    std::string_view operator()(const RunStarted&) const { return "run-started"; }
    std::string_view operator()(const StepDone&) const { return "step"; }
    std::string_view operator()(const Proposed&) const { return "proposed"; }
    std::string_view operator()(const Exchanged&) const { return "exchanged"; }
    std::string_view operator()(const Evaluated&) const { return "evaluated"; }
    std::string_view operator()(const BestChanged&) const { return "best"; }
    std::string_view operator()(const RunFinished&) const { return "run-finished"; }
  };
  return std::visit(Kind{}, body);
}

std::string to_json(const EventBody& body) {
  return dump(std::visit([](const auto& value) { return Json(value); }, body));
}

Result<EventBody> parse_event(std::string_view kind_word, std::string_view json) {
  return guarded("event", [&] {
    return variant_from<EventBody>(kind_word, Json::parse(json),
                                   [](const EventBody& body) { return kind(body); });
  });
}

std::string to_json(const Outcome& outcome) {
  return dump(outcome_json(outcome));
}

Result<Outcome> parse_outcome(std::string_view json) {
  return guarded("outcome", [&] { return outcome_from(Json::parse(json)); });
}

}  // namespace candidate
}  // namespace cuco
