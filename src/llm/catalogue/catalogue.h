// SPDX-License-Identifier: Apache-2.0
/// \file
/// The catalogue of services and models: models/models.toml, overridden by the user's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/catalogue/model_facts.h"

namespace cuco::llm {

class Catalogue {
 public:
  /// What cuco ships.
  [[nodiscard]] static const Catalogue& shipped();

  /// Lays a file over what is known: it changes the fields that it names, and adds what is new. An
  /// error names the file, the line and the nearest right word.
  [[nodiscard]] Result<void> add(std::string_view toml, std::string_view name);

  /// NotFound names the services that there are.
  [[nodiscard]] Result<ServiceFacts> service(std::string_view name) const;
  [[nodiscard]] const std::vector<ServiceFacts>& services() const { return services_; }

  /// What is known about a model of a service; defaults where nothing is. The longest name that
  /// fits counts, and one of the service before one of any.
  [[nodiscard]] ModelFacts model(std::string_view service, std::string_view name) const;

 private:
  std::vector<ServiceFacts> services_;
  std::vector<ModelFacts> models_;
};

/// A model as users name it: "SERVICE:MODEL", or only "MODEL" of the service `fallback`. A word
/// before a colon that is no service belongs to the model ("llama3:8b").
struct ModelName {
  std::string service;
  std::string model;
};
[[nodiscard]] ModelName parse_model_name(std::string_view text,
                                         const Catalogue& catalogue,
                                         std::string_view fallback);

}  // namespace cuco::llm
