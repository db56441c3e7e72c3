// SPDX-License-Identifier: Apache-2.0
/// \file
/// A models.toml as a list of changes to what is known.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/catalogue/model_facts.h"

namespace cuco::llm {

struct CatalogueFile {
  struct Service {
    std::string name;
    std::function<Result<void>(ServiceFacts&)> apply;  ///< Changes the fields that are named.
  };
  struct Model {
    std::string service;
    std::string pattern;
    std::function<Result<void>(ModelFacts&)> apply;
  };
  std::string dated;
  std::vector<Service> services;
  std::vector<Model> models;
};

/// An error starts with "name:line: "; so do those of the changes, which may outlive the text.
[[nodiscard]] Result<CatalogueFile> parse_catalogue_file(std::string_view toml,
                                                         std::string_view name);

}  // namespace cuco::llm
