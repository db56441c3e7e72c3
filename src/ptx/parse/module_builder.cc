// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/module_builder.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cuco::ptx {

// nvcc's register ranges are tight: each register is named at least once, so real text stays far
// below one register per byte. Initialised data is written out, but a gap in it can be larger
// (`x[9][1000000] = {{1}, {2}}`). The constants leave room for small texts written by hand.
ModuleBuilder::ModuleBuilder(TokenStream& tokens, std::size_t text_bytes)
    : tokens_(tokens),
      registers_left_(65536 + text_bytes),
      variables_left_(4096 + text_bytes / 4),
      initial_bytes_left_((std::uint64_t{16} << 20U) + 16 * text_bytes) {
  module_.files.emplace_back();
}

const std::uint32_t* ModuleBuilder::find_symbol(std::string_view name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() || !declared_[found->second] ? nullptr : &found->second;
}

std::uint32_t ModuleBuilder::refer_to_symbol(std::string_view name) {
  const auto next = static_cast<std::uint32_t>(module_.symbols.size());
  const auto [entry, inserted] = symbols_.try_emplace(name, next);
  if (inserted) {
    module_.symbols.push_back({.name = std::string(name)});
    declared_.push_back(false);
  }
  if (!declared_[entry->second]) pending_.push_back({entry->second, tokens_.current().line});
  return entry->second;
}

std::uint32_t ModuleBuilder::add_variable(std::string_view name, Variable variable) {
  const std::uint32_t index = refer_to_symbol(name);
  Symbol& symbol = module_.symbols[index];
  if (!declared_[index]) {
    declared_[index] = true;
    symbol.linkage = variable.linkage;
    symbol.index = static_cast<std::uint32_t>(module_.variables.size());
    module_.variables.push_back(std::move(variable));
    return index;
  }
  if (symbol.kind != Symbol::Kind::Variable) {
    tokens_.fail("'" + symbol.name + "' is a function and cannot be a variable");
    return index;
  }
  Variable& known = module_.variables[symbol.index];
  if (variable.linkage == Linkage::Extern) return index;
  if (known.linkage != Linkage::Extern) {
    tokens_.fail("variable is defined twice: " + symbol.name);
    return index;
  }
  symbol.linkage = variable.linkage;
  known = std::move(variable);
  return index;
}

std::uint32_t ModuleBuilder::add_private_variable(std::string_view owner, Variable variable) {
  const auto index = static_cast<std::uint32_t>(module_.symbols.size());
  variable.name = std::string(owner) + "::" + variable.name;
  module_.symbols.push_back(
      {.name = variable.name, .index = static_cast<std::uint32_t>(module_.variables.size())});
  declared_.push_back(true);
  module_.variables.push_back(std::move(variable));
  return index;
}

std::uint32_t ModuleBuilder::add_function(std::string_view name, Function declared) {
  const std::uint32_t index = refer_to_symbol(name);
  Symbol& symbol = module_.symbols[index];
  if (!declared_[index]) {
    declared_[index] = true;
    symbol.kind = Symbol::Kind::Function;
    symbol.linkage = declared.linkage;
    symbol.index = static_cast<std::uint32_t>(module_.functions.size());
    module_.functions.push_back(std::move(declared));
    return symbol.index;
  }
  if (symbol.kind != Symbol::Kind::Function) {
    tokens_.fail("'" + symbol.name + "' is a variable and cannot be a function");
    return 0;
  }
  Function& known = module_.functions[symbol.index];
  if (known.has_body && declared.has_body) {
    tokens_.fail("function is defined twice: " + symbol.name);
    return symbol.index;
  }
  if (declared.has_body) {
    // `.visible .func f;` then `.func f {…}`: the stronger wish counts.
    if (declared.linkage == Linkage::Internal && known.linkage != Linkage::Extern) {
      declared.linkage = known.linkage;
    }
    declared.no_return |= known.no_return;
    symbol.linkage = declared.linkage;
    known = std::move(declared);
  }
  return symbol.index;
}

void ModuleBuilder::add_alias(std::string_view name, std::string_view target) {
  const std::uint32_t line = tokens_.current().line;
  const std::uint32_t symbol = refer_to_symbol(name);
  aliases_.push_back({symbol, refer_to_symbol(target), line});
}

void ModuleBuilder::spend_registers(std::uint64_t count) {
  if (count > registers_left_) return tokens_.fail("too many registers for a text of this size");
  registers_left_ -= count;
}

void ModuleBuilder::spend_variables(std::uint64_t count) {
  if (count > variables_left_) return tokens_.fail("too many variables for a text of this size");
  variables_left_ -= count;
}

void ModuleBuilder::spend_initial_bytes(std::uint64_t count) {
  if (count > initial_bytes_left_) return tokens_.fail("initialisers are too large");
  initial_bytes_left_ -= count;
}

void ModuleBuilder::finish() {
  for (const Pending& pending : pending_) {
    if (!declared_[pending.symbol]) {
      return tokens_.fail_at(pending.line,
                             "name is not declared: " + module_.symbols[pending.symbol].name);
    }
  }
  for (const Alias& alias : aliases_) {
    Symbol& symbol = module_.symbols[alias.symbol];
    const Symbol& target = module_.symbols[alias.target];
    const bool functions =
        symbol.kind == Symbol::Kind::Function && target.kind == Symbol::Kind::Function;
    if (!functions || !module_.functions[target.index].has_body) {
      return tokens_.fail_at(alias.line, ".alias needs a defined function: " + target.name);
    }
    symbol.index = target.index;
  }
}

}  // namespace cuco::ptx
