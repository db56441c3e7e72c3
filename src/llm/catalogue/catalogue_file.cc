// SPDX-License-Identifier: Apache-2.0
#include "llm/catalogue/catalogue_file.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml.h"
#include "llm/protocol/model_protocol.h"

namespace cuco::llm {
namespace {

constexpr double kMostSeconds = 86'400;

/// One table of the file, read field by field; unknown fields are named with the nearest right one.
class Fields {
 public:
  using Root = std::shared_ptr<const toml::table>;

  /// `root` owns the table: changes may outlive the file, and copies of nodes forget their lines.
  Fields(const toml::table& table, Root root, std::string_view file)
      : table_(table), root_(std::move(root)), file_(file) {}

  [[nodiscard]] Error wrong(const toml::node& node, std::string_view what) const {
    return {ErrorKind::InvalidInput,
            fmt::format("{}:{}: {}", file_, node.source().begin.line, what)};
  }

  Result<void> check_names(std::span<const std::string_view> known) const {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      const std::vector<std::string> names(known.begin(), known.end());
      const auto near = nearest(key.str(), names);
      return wrong(node, fmt::format("unknown field '{}'{}", key.str(),
                                     near ? fmt::format(" (did you mean '{}'?)", *near) : ""));
    }
    return {};
  }

  Result<void> read(std::string_view key, std::string& value) const {
    return take<std::string>(key, value, "a text");
  }
  Result<void> read(std::string_view key, bool& value) const {
    return take<bool>(key, value, "true or false");
  }
  Result<void> read(std::string_view key, int& value) const {
    std::int64_t wide = value;
    CUCO_TRY(take<std::int64_t>(key, wide, "a whole number"));
    if (wide < 0 || wide > 1'000'000'000)
      return wrong(*table_.get(key), fmt::format("{} must be from 0 to 1000000000", key));
    value = static_cast<int>(wide);
    return {};
  }
  Result<void> read(std::string_view key, double& value) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    const auto number = node->value<double>();
    if (!node->is_number() || !number || !(*number >= 0 && *number < 1e9))
      return wrong(*node, fmt::format("{} must be a number from 0 on", key));
    value = *number;
    return {};
  }

  [[nodiscard]] const toml::node* get(std::string_view key) const { return table_.get(key); }
  [[nodiscard]] Fields below(const toml::table& table) const { return {table, root_, file_}; }

 private:
  template <typename T>
  Result<void> take(std::string_view key, T& value, std::string_view expected) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    const auto found = node->value_exact<T>();
    if (!found) return wrong(*node, fmt::format("{} must be {}", key, expected));
    value = *found;
    return {};
  }

  const toml::table& table_;
  Root root_;
  std::string file_;
};

Result<void> read_key_scheme(const Fields& fields, ServiceFacts& facts) {
  std::string scheme;
  CUCO_TRY(fields.read("key", scheme));
  if (scheme.empty()) return {};
  facts.key = scheme == "bearer"  ? KeyScheme::Bearer
              : scheme == "none"  ? KeyScheme::None
              : scheme == "sigv4" ? KeyScheme::SigV4
                                  : KeyScheme::Header;
  facts.key_header = facts.key == KeyScheme::Header ? scheme : "";
  return {};
}

Result<void> read_headers(const Fields& fields, ServiceFacts& facts) {
  const toml::node* node = fields.get("headers");
  if (node == nullptr) return {};
  const toml::table* table = node->as_table();
  if (table == nullptr) return fields.wrong(*node, "headers must be a table of texts");
  for (const auto& [key, value] : *table) {
    const auto text = value.value_exact<std::string>();
    if (!text) return fields.wrong(value, fmt::format("header {} must be a text", key.str()));
    facts.headers[std::string(key.str())] = *text;
  }
  return {};
}

Result<void> apply_service(const Fields& fields, ServiceFacts& facts) {
  constexpr auto kKnown = std::to_array<std::string_view>(
      {"protocol", "url", "path", "key", "key_variable", "key_required", "headers", "api_version",
       "region", "test_model", "in_flight", "per_minute"});
  CUCO_TRY(fields.check_names(kKnown));
  std::string protocol(name_of(facts.protocol));
  CUCO_TRY(fields.read("protocol", protocol));
  const auto known = parse_protocol(protocol);
  if (!known) {
    return fields.wrong(*fields.get("protocol"),
                        fmt::format("protocol must be chat, responses, messages, gemini or "
                                    "converse, not '{}'",
                                    protocol));
  }
  facts.protocol = *known;
  CUCO_TRY(fields.read("url", facts.url));
  CUCO_TRY(fields.read("path", facts.path));
  CUCO_TRY(read_key_scheme(fields, facts));
  CUCO_TRY(fields.read("key_variable", facts.key_variable));
  CUCO_TRY(fields.read("key_required", facts.key_required));
  CUCO_TRY(read_headers(fields, facts));
  CUCO_TRY(fields.read("api_version", facts.api_version));
  CUCO_TRY(fields.read("region", facts.region));
  CUCO_TRY(fields.read("test_model", facts.test_model));
  CUCO_TRY(fields.read("in_flight", facts.in_flight));
  return fields.read("per_minute", facts.per_minute);
}

Result<void> read_prices(const Fields& fields, ModelFacts& facts) {
  const toml::node* node = fields.get("prices");
  if (node == nullptr) return {};
  if (!node->is_table()) return fields.wrong(*node, "prices must be { in = …, out = … }");
  const Fields prices = fields.below(*node->as_table());
  constexpr auto kKnown = std::to_array<std::string_view>({"in", "out", "cached", "cache_written"});
  CUCO_TRY(prices.check_names(kKnown));
  Prices made;
  CUCO_TRY(prices.read("in", made.in));
  CUCO_TRY(prices.read("out", made.out));
  // Without a word about the cache it costs what everything costs.
  made.cached = made.cache_written = made.in;
  CUCO_TRY(prices.read("cached", made.cached));
  CUCO_TRY(prices.read("cache_written", made.cache_written));
  facts.prices = made;
  return {};
}

Result<void> apply_model(const Fields& fields, ModelFacts& facts) {
  constexpr auto kKnown = std::to_array<std::string_view>(
      {"service", "name", "temperature", "seed", "schema", "stream_usage", "token_field", "effort",
       "silence", "context", "most_answer", "prices"});
  CUCO_TRY(fields.check_names(kKnown));
  CUCO_TRY(fields.read("temperature", facts.temperature));
  CUCO_TRY(fields.read("seed", facts.seed));
  CUCO_TRY(fields.read("schema", facts.schema));
  CUCO_TRY(fields.read("stream_usage", facts.stream_usage));
  CUCO_TRY(fields.read("token_field", facts.token_field));
  CUCO_TRY(fields.read("effort", facts.effort));
  double silence = std::chrono::duration<double>(facts.silence).count();
  CUCO_TRY(fields.read("silence", silence));
  silence = std::clamp(silence, 0.1, kMostSeconds);
  facts.silence = std::chrono::milliseconds(static_cast<std::int64_t>(silence * 1000));
  CUCO_TRY(fields.read("context", facts.context));
  CUCO_TRY(fields.read("most_answer", facts.most_answer));
  return read_prices(fields, facts);
}

}  // namespace

Result<CatalogueFile> parse_catalogue_file(std::string_view text, std::string_view name) {
  CUCO_TRY_ASSIGN(toml::table parsed, parse_toml(text, name));
  const auto root = std::make_shared<const toml::table>(std::move(parsed));
  CatalogueFile file;
  const Fields top(*root, root, name);
  constexpr auto kKnown = std::to_array<std::string_view>({"dated", "service", "model"});
  CUCO_TRY(top.check_names(kKnown));
  CUCO_TRY(top.read("dated", file.dated));
  if (const toml::node* services = top.get("service")) {
    if (!services->is_table()) return top.wrong(*services, "services are tables: [service.NAME]");
    for (const auto& [key, node] : *services->as_table()) {
      if (!node.is_table()) return top.wrong(node, "a service is a table: [service.NAME]");
      auto fields = std::make_shared<Fields>(top.below(*node.as_table()));
      file.services.push_back({std::string(key.str()), [fields](ServiceFacts& facts) {
                                 return apply_service(*fields, facts);
                               }});
    }
  }
  const toml::node* models = top.get("model");
  if (models == nullptr) return file;
  if (!models->is_array()) return top.wrong(*models, "models are a list: [[model]]");
  for (const toml::node& node : *models->as_array()) {
    if (!node.is_table()) return top.wrong(node, "a model is a table: [[model]]");
    auto fields = std::make_shared<Fields>(top.below(*node.as_table()));
    CatalogueFile::Model entry;
    CUCO_TRY(fields->read("service", entry.service));
    CUCO_TRY(fields->read("name", entry.pattern));
    if (entry.pattern.empty()) return top.wrong(node, "a model needs a name");
    entry.apply = [fields](ModelFacts& facts) { return apply_model(*fields, facts); };
    file.models.push_back(std::move(entry));
  }
  return file;
}

}  // namespace cuco::llm
