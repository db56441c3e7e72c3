// SPDX-License-Identifier: Apache-2.0
#include "llm/catalogue/catalogue.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "llm/catalogue/catalogue_file.h"

namespace cuco::llm {

std::optional<std::string_view> resource(std::string_view name);

namespace {

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

/// How closely an entry describes a model: by its service, by its very name, by the longest part.
auto closeness(const ModelFacts& facts) {
  return std::tuple(!facts.service.empty(), !facts.pattern.ends_with('*'), facts.pattern.size());
}

}  // namespace

double dollars_of(const Usage& usage, const Prices& prices) {
  const int plain = std::max(0, usage.prompt - usage.cached - usage.cache_written);
  return (plain * prices.in + usage.cached * prices.cached +
          usage.cache_written * prices.cache_written + usage.answer * prices.out) *
         1e-6;
}

const Catalogue& Catalogue::shipped() {
  static const Catalogue kShipped = [] {
    Catalogue made;
    const auto text = resource("models.toml");
    CUCO_ASSERT(text.has_value());
    const auto added = made.add(*text, "models.toml");
    CUCO_ASSERT(added.has_value());
    return made;
  }();
  return kShipped;
}

Result<void> Catalogue::add(std::string_view toml, std::string_view name) {
  CUCO_TRY_ASSIGN(const CatalogueFile file, parse_catalogue_file(toml, name));
  // All or nothing: a file with an error changes nothing.
  Catalogue changed = *this;
  for (const auto& entry : file.services) {
    auto known = std::ranges::find(changed.services_, entry.name, &ServiceFacts::name);
    if (known == changed.services_.end()) {
      known = changed.services_.insert(known, ServiceFacts{.name = entry.name});
    }
    CUCO_TRY(entry.apply(*known));
  }
  for (const auto& entry : file.models) {
    if (!entry.service.empty()) CUCO_TRY(changed.service(entry.service));
    // What is already known about such a name holds unless the entry says otherwise.
    std::string_view probe = entry.pattern;
    if (probe.ends_with('*')) probe.remove_suffix(1);
    ModelFacts facts = changed.model(entry.service, probe);
    CUCO_TRY(entry.apply(facts));
    facts.service = entry.service;
    facts.pattern = entry.pattern;
    facts.dated = file.dated;
    std::erase_if(changed.models_, [&](const ModelFacts& old) {
      return old.service == facts.service && old.pattern == facts.pattern;
    });
    changed.models_.push_back(std::move(facts));
  }
  *this = std::move(changed);
  return {};
}

Result<ServiceFacts> Catalogue::service(std::string_view name) const {
  const auto known = std::ranges::find(services_, name, &ServiceFacts::name);
  if (known != services_.end()) return *known;
  std::vector<std::string> names;
  for (const ServiceFacts& service : services_)
    names.push_back(service.name);
  const auto near = nearest(name, names);
  return Error{
      ErrorKind::NotFound,
      fmt::format("no service '{}'{}; there are {}; add yours to models.toml", name,
                  near ? fmt::format(" (did you mean '{}'?)", *near) : "", join(names, ", "))};
}

ModelFacts Catalogue::model(std::string_view service, std::string_view name) const {
  const ModelFacts* best = nullptr;
  for (const ModelFacts& facts : models_) {
    if (!facts.service.empty() && facts.service != service) continue;
    if (!fits(facts.pattern, name)) continue;
    // Of two that are equally close, the later one counts.
    if (best == nullptr || closeness(facts) >= closeness(*best)) best = &facts;
  }
  return best == nullptr ? ModelFacts{} : *best;
}

ModelName parse_model_name(std::string_view text,
                           const Catalogue& catalogue,
                           std::string_view fallback) {
  const auto colon = text.find(':');
  if (colon != std::string_view::npos && catalogue.service(text.substr(0, colon))) {
    return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  }
  return {std::string(fallback), std::string(text)};
}

}  // namespace cuco::llm
