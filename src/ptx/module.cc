// SPDX-License-Identifier: Apache-2.0
#include "ptx/module.h"

namespace cuco::ptx {
namespace {

/// The symbol of that name; among several (internal names of linked modules) one that is visible.
const Symbol* find_symbol(const Module& module, std::string_view name, Symbol::Kind kind) {
  const Symbol* found = nullptr;
  for (const Symbol& symbol : module.symbols) {
    if (symbol.kind != kind || symbol.name != name) continue;
    if (symbol.linkage != Linkage::Internal) return &symbol;
    if (found == nullptr) found = &symbol;
  }
  return found;
}

}  // namespace

const Function* Module::find_function(std::string_view name) const {
  const Symbol* symbol = find_symbol(*this, name, Symbol::Kind::Function);
  return symbol == nullptr ? nullptr : &functions[symbol->index];
}

const Variable* Module::find_variable(std::string_view name) const {
  const Symbol* symbol = find_symbol(*this, name, Symbol::Kind::Variable);
  return symbol == nullptr ? nullptr : &variables[symbol->index];
}

}  // namespace cuco::ptx
