// SPDX-License-Identifier: Apache-2.0
#include "candidate/event_json.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"

namespace cuco {
namespace program {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(File, path, text)
inline void to_json(nlohmann::json& json, const Source& source) {
  json = {{"files", source.files().copy()}};
}
inline void from_json(const nlohmann::json& json, Source& source) {
  source = Source(json.value("files", std::vector<File>{}));
}
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
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Interval, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Filling, blocks_per_sm, waves)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    ScaleModel, factor, smaller_factor, smaller_seconds, filling, smaller_filling, why_alone)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ShapeTime,
                                                shape,
                                                seconds,
                                                samples,
                                                speedup,
                                                baseline_seconds,
                                                bound_seconds,
                                                limited_by,
                                                limits,
                                                phases,
                                                hot_spots,
                                                wire_bytes,
                                                scale_model)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProposalRejected, reason, detail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ScreenRejected, rule, reason, where)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BuildFailed, message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Crashed, reason, shape, where)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TimedOut, stage, limit_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Deadlock, shape, waits)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Quarantined, seconds, bound_seconds, shape)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Scored,
                                                seconds,
                                                baseline_seconds,
                                                bound_seconds,
                                                speedup,
                                                score,
                                                predicted,
                                                hardware,
                                                shapes,
                                                checked_shapes,
                                                checked_hidden_shapes,
                                                checked_schedules,
                                                left_out,
                                                warnings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Comparison, faster, speedup, samples)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    Provenance, workload, hardware, topology, nvcc, nccl, cuco)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    RunStarted, workload, seed, target, hardware, options, window, provenance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepDone, step, ok, detail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Exchange,
                                                question,
                                                provider,
                                                model,
                                                role,
                                                prompt,
                                                answer,
                                                prompt_tokens,
                                                answer_tokens,
                                                cached_tokens,
                                                reasoning_tokens,
                                                lost_tokens,
                                                dollars,
                                                answered_by,
                                                seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Declined, decision, proposer, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Reserved, decision, question, tokens, dollars)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(BestChanged, candidate, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Noted, notes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RunFinished, reason, repeatable)

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

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    Forecast, speedup, low, high, works, judged, audited)
inline void to_json(Json& json, const Lineage& lineage) {
  json = {{"proposer", lineage.proposer},
          {"island", lineage.island},
          {"phase", lineage.phase},
          {"operation", lineage.operation},
          {"inspirations", lineage.inspirations},
          {"because", lineage.because}};
  if (lineage.parent) json["parent"] = *lineage.parent;
  if (lineage.plan) json["plan"] = *lineage.plan;
  if (lineage.forecast) json["forecast"] = *lineage.forecast;
}
inline void from_json(const Json& json, Lineage& lineage) {
  lineage.proposer = json.value("proposer", "");
  lineage.island = json.value("island", "");
  lineage.phase = json.value("phase", "");
  lineage.operation = json.value("operation", "");
  lineage.plan = optional_field<int>(json, "plan");
  lineage.forecast = optional_field<Forecast>(json, "forecast");
  lineage.inspirations = json.value("inspirations", std::vector<Number>{});
  lineage.because = json.value("because", "");
  lineage.parent = optional_field<Number>(json, "parent");
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(
    Candidate, number, source, directive, lineage, code_hash)

inline void to_json(Json& json, const Planned& event) {
  const Plan& plan = event.plan;
  json = {{"number", plan.number},
          {"directive", plan.directive},
          {"reason", plan.reason},
          {"expected_gain", plan.expected_gain},
          {"preconditions", plan.preconditions}};
  if (plan.parent) json["parent"] = *plan.parent;
}
inline void from_json(const Json& json, Planned& event) {
  Plan& plan = event.plan;
  plan.number = json.value("number", 0);
  plan.directive = json.value("directive", design::Directive{});
  plan.reason = json.value("reason", "");
  plan.expected_gain = json.value("expected_gain", 1.0);
  plan.preconditions = json.value("preconditions", std::vector<std::string>{});
  plan.parent = optional_field<PlanNumber>(json, "parent");
}

inline void to_json(Json& json, const Proposed& proposed) {
  json = {{"candidate", proposed.candidate}, {"decision", proposed.decision}};
  if (proposed.rejected) json["rejected"] = *proposed.rejected;
}
inline void from_json(const Json& json, Proposed& proposed) {
  proposed.candidate = json.at("candidate").get<Candidate>();
  proposed.rejected = optional_field<ProposalRejected>(json, "rejected");
  proposed.decision = json.value("decision", -1);
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
  std::string word = json.at("verdict").get<std::string>();
  if (word == "dead-lock") word = "deadlock";  // as version 0.1 wrote it
  return variant_from<Outcome>(word, json, [](const Outcome& outcome) { return verdict(outcome); });
}
}  // namespace

inline void to_json(Json& json, const Rung& rung) {
  json = {{"target", name(rung.target)}, {"fidelity", name(rung.fidelity)}};
}
inline void from_json(const Json& json, Rung& rung) {
  const auto target_word = json.value("target", "virtual");
  const auto fidelity_word = json.value("fidelity", "quick");
  const auto target = parse_target_kind(target_word);
  const auto fidelity = parse_fidelity(fidelity_word);
  if (!target) throw std::invalid_argument(fmt::format("unknown target '{}'", target_word));
  if (!fidelity) throw std::invalid_argument(fmt::format("unknown fidelity '{}'", fidelity_word));
  rung = {*target, *fidelity};
}

inline void to_json(Json& json, const Exchanged& exchanged) {
  json = {{"decision", exchanged.decision}, {"exchange", exchanged.exchange}};
}
inline void from_json(const Json& json, Exchanged& exchanged) {
  exchanged.decision = json.value("decision", json.value("candidate", 0));
  exchanged.exchange = json.value("exchange", Exchange{});
}

// The rung's two words stand in the event itself, where version 0.1 had its fidelity.
inline void to_json(Json& json, const Evaluated& evaluated) {
  json = evaluated.rung;
  json["candidate"] = evaluated.candidate;
  json["outcome"] = outcome_json(evaluated.outcome);
  json["wall_seconds"] = evaluated.wall_seconds;
  if (evaluated.code)
    json["code"] = {{"device", evaluated.code->device}, {"host", evaluated.code->host}};
  if (evaluated.same_as) json["same_as"] = *evaluated.same_as;
}
inline void from_json(const Json& json, Evaluated& evaluated) {
  evaluated.candidate = json.value("candidate", 0);
  evaluated.rung = json.get<Rung>();
  evaluated.outcome = outcome_from(json.at("outcome"));
  evaluated.wall_seconds = json.value("wall_seconds", 0.0);
  if (const auto code = json.find("code"); code != json.end())
    evaluated.code = MachineCode{code->value("device", ""), code->value("host", "")};
  evaluated.same_as = optional_field<Number>(json, "same_as");
}

inline void to_json(Json& json, const SetAside& event) {
  json = event.rung;
  json["decision"] = event.decision;
  json["tries"] = event.tries;
  json["reason"] = event.reason;
  if (event.candidate) json["candidate"] = *event.candidate;
  if (!event.proposer.empty()) json["proposer"] = event.proposer;
}
inline void from_json(const Json& json, SetAside& event) {
  event.rung = json.get<Rung>();
  event.decision = json.value("decision", 0);
  event.tries = json.value("tries", 0);
  event.reason = json.value("reason", "");
  event.candidate = optional_field<Number>(json, "candidate");
  event.proposer = json.value("proposer", "");
}

inline void to_json(Json& json, const Compared& event) {
  json = event.rung;
  json["challenger"] = event.challenger;
  json["incumbent"] = event.incumbent;
  json["comparison"] = event.comparison;
}
inline void from_json(const Json& json, Compared& event) {
  event.rung = json.get<Rung>();
  event.challenger = json.value("challenger", 0);
  event.incumbent = json.value("incumbent", 0);
  event.comparison = json.value("comparison", Comparison{});
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
    std::string_view operator()(const Declined&) const { return "declined"; }
    std::string_view operator()(const Reserved&) const { return "reserved"; }
    std::string_view operator()(const Exchanged&) const { return "exchanged"; }
    std::string_view operator()(const Evaluated&) const { return "evaluated"; }
    std::string_view operator()(const SetAside&) const { return "set-aside"; }
    std::string_view operator()(const Compared&) const { return "compared"; }
    std::string_view operator()(const Planned&) const { return "planned"; }
    std::string_view operator()(const Noted&) const { return "noted"; }
    std::string_view operator()(const BestChanged&) const { return "best"; }
    std::string_view operator()(const RunFinished&) const { return "run-finished"; }
  };
  return std::visit(Kind{}, body);
}

std::string to_json(const EventBody& body) {
  return dump(std::visit([](const auto& value) { return Json(value); }, body));
}

StoredEvent to_stored(const EventBody& body) {
  const auto* proposed = std::get_if<Proposed>(&body);
  if (proposed == nullptr) return {to_json(body), {}};
  StoredEvent stored;
  Proposed without_texts = *proposed;
  without_texts.candidate.source = {};
  Json json = without_texts;
  Json files = Json::array();
  stored.files = proposed->candidate.source.files();
  for (const program::File& file : stored.files) {
    std::string hash = to_hex(sha256(file.text));
    files.push_back({{"path", file.path}, {"hash", hash}});
    stored.texts.emplace_back(std::move(hash), file.text);
  }
  json["candidate"]["source"]["files"] = std::move(files);
  stored.json = dump(json);
  return stored;
}

Result<EventBody> parse_event(std::string_view kind_word,
                              std::string_view json,
                              const TextOf& text_of) {
  return guarded("event", [&] {
    Json parsed = Json::parse(json);
    if (text_of && kind_word == "proposed") {
      for (Json& file : parsed.at("candidate").at("source").at("files")) {
        const auto hash = file.find("hash");
        if (hash == file.end()) continue;
        auto text = text_of(hash->get<std::string>());
        if (!text) throw std::invalid_argument(text.error().message());
        file["text"] = *std::move(text);
      }
    }
    return variant_from<EventBody>(kind_word, parsed,
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
