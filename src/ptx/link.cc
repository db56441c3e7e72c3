// SPDX-License-Identifier: Apache-2.0
// Linking happens in three steps: every symbol of every module gets an identity (its name, or
// itself if internal), every identity a winner among its definitions, and every use is rewritten.
#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

/// Which definition of a name wins; later ones beat earlier ones.
enum class Strength : std::uint8_t { Declaration, Common, Weak, Strong };

class Linker {
 public:
  explicit Linker(std::vector<Module> modules) : modules_(std::move(modules)) {}

  Result<Module> link() {
    for (std::size_t m = 0; m < modules_.size(); ++m)
      CUCO_TRY(merge_symbols(m));
    CUCO_TRY(check_undefined());
    for (std::size_t m = 0; m < modules_.size(); ++m)
      move_definitions(m);
    return std::move(out_);
  }

 private:
  struct Winner {
    std::size_t module;
    std::uint32_t symbol;
    Strength strength;
  };

  Result<void> merge_symbols(std::size_t m);
  Result<void> meet(std::uint32_t identity, std::size_t m, std::uint32_t symbol);
  Result<void> check_undefined() const;
  void move_definitions(std::size_t m);
  void rewrite(Function& function, std::size_t m, std::uint32_t file_base);
  void rewrite(Operand& operand, std::size_t m);
  [[nodiscard]] Strength strength_of(const Module& module, const Symbol& symbol) const;
  [[nodiscard]] const Variable& variable_of(const Winner& winner) const;

  std::vector<Module> modules_;
  Module out_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<Winner> winners_;                         ///< By output symbol.
  std::vector<std::vector<std::uint32_t>> identities_;  ///< [module][symbol] to output symbol.
};

Strength Linker::strength_of(const Module& module, const Symbol& symbol) const {
  if (symbol.kind == Symbol::Kind::Function && !module.functions[symbol.index].has_body) {
    return Strength::Declaration;
  }
  switch (symbol.linkage) {
    case Linkage::Extern:
      return Strength::Declaration;
    case Linkage::Common:
      return Strength::Common;
    case Linkage::Weak:
      return Strength::Weak;
    default:
      return Strength::Strong;
  }
}

const Variable& Linker::variable_of(const Winner& winner) const {
  const Module& module = modules_[winner.module];
  return module.variables[module.symbols[winner.symbol].index];
}

// Gives every symbol of module `m` its symbol in the output: its own for internal ones, one per
// name for all others.
Result<void> Linker::merge_symbols(std::size_t m) {
  const Module& module = modules_[m];
  auto& identities = identities_.emplace_back();
  for (std::uint32_t s = 0; s < module.symbols.size(); ++s) {
    const Symbol& symbol = module.symbols[s];
    const auto fresh = static_cast<std::uint32_t>(out_.symbols.size());
    const Strength strength = strength_of(module, symbol);
    // A declaration without a body and without linkage can only mean somebody else's function.
    const bool is_internal = symbol.linkage == Linkage::Internal && strength == Strength::Strong;
    const std::uint32_t identity =
        is_internal ? fresh : by_name_.try_emplace(symbol.name, fresh).first->second;
    identities.push_back(identity);
    if (identity == fresh) {
      out_.symbols.push_back(symbol);
      winners_.push_back({m, s, strength});
    } else {
      CUCO_TRY(meet(identity, m, s));
    }
  }
  return {};
}

// A second module brings a name that is known: they must agree, and the stronger one is kept.
Result<void> Linker::meet(std::uint32_t identity, std::size_t m, std::uint32_t s) {
  Winner& winner = winners_[identity];
  const Symbol& symbol = modules_[m].symbols[s];
  const Strength strength = strength_of(modules_[m], symbol);
  const auto clash = [&](const char* how) {
    return Error(ErrorKind::InvalidInput, "link: '" + symbol.name + "' " + how);
  };
  if (out_.symbols[identity].kind != symbol.kind) {
    return clash("is a function in one module and a variable in another");
  }
  if (strength == Strength::Strong && winner.strength == Strength::Strong) {
    return clash("is defined in two modules");
  }
  bool wins = strength > winner.strength;
  if (symbol.kind == Symbol::Kind::Variable) {
    const Variable& mine = modules_[m].variables[symbol.index];
    const Variable& other = variable_of(winner);
    if (mine.space != other.space) return clash("is in different state spaces");
    // Of two common blocks the larger one holds both; of two declarations of dynamic shared
    // memory the stricter alignment serves both.
    if (strength == winner.strength && strength == Strength::Common) {
      wins = mine.bytes > other.bytes;
    }
    if (strength == winner.strength && strength == Strength::Declaration) {
      wins = mine.align > other.align;
    }
  }
  if (wins) {
    winner = {m, s, strength};
    out_.symbols[identity].linkage = symbol.linkage;
  }
  return {};
}

// Functions without a body are no error yet: only a call to one traps.
Result<void> Linker::check_undefined() const {
  for (std::size_t i = 0; i < winners_.size(); ++i) {
    const Symbol& symbol = out_.symbols[i];
    if (symbol.kind != Symbol::Kind::Variable || winners_[i].strength != Strength::Declaration) {
      continue;
    }
    // `extern .shared x[]` is defined by the launch.
    if (variable_of(winners_[i]).space == Space::Shared) continue;
    return Error(ErrorKind::InvalidInput,
                 "link: variable is not defined in any module: " + symbol.name);
  }
  return {};
}

// Moves what module `m` won; the losers' definitions are dropped with the module.
void Linker::move_definitions(std::size_t m) {
  Module& module = modules_[m];
  const auto file_base = static_cast<std::uint32_t>(out_.files.size());
  for (std::string& file : module.files)
    out_.files.push_back(std::move(file));
  const auto version = std::pair(module.version_major, module.version_minor);
  if (version > std::pair(out_.version_major, out_.version_minor)) {
    std::tie(out_.version_major, out_.version_minor) = version;
  }
  if (out_.target.empty()) out_.target = module.target;

  // Aliases share a function: each entity is moved once, by whichever winner comes first.
  constexpr std::uint32_t kNotMoved = UINT32_MAX;
  std::vector<std::uint32_t> moved(module.functions.size(), kNotMoved);
  for (std::uint32_t s = 0; s < module.symbols.size(); ++s) {
    const std::uint32_t identity = identities_[m][s];
    if (winners_[identity].module != m || winners_[identity].symbol != s) continue;
    const Symbol& symbol = module.symbols[s];
    if (symbol.kind == Symbol::Kind::Variable) {
      Variable variable = std::move(module.variables[symbol.index]);
      for (Relocation& relocation : variable.relocations) {
        relocation.symbol = identities_[m][relocation.symbol];
      }
      out_.symbols[identity].index = static_cast<std::uint32_t>(out_.variables.size());
      out_.variables.push_back(std::move(variable));
      continue;
    }
    if (moved[symbol.index] == kNotMoved) {
      moved[symbol.index] = static_cast<std::uint32_t>(out_.functions.size());
      Function function = std::move(module.functions[symbol.index]);
      rewrite(function, m, file_base);
      out_.functions.push_back(std::move(function));
    }
    out_.symbols[identity].index = moved[symbol.index];
  }
}

// Symbols and files of a module are numbered anew in the output.
void Linker::rewrite(Function& function, std::size_t m, std::uint32_t file_base) {
  for (Instruction& instruction : function.instructions) {
    instruction.source.file += file_base;
    instruction.caller.file += file_base;
    for (Operand& operand : instruction.operands)
      rewrite(operand, m);
  }
  for (CallSite& call : function.calls) {
    rewrite(call.target, m);
    for (Operand& operand : call.returns)
      rewrite(operand, m);
    for (Operand& operand : call.arguments)
      rewrite(operand, m);
  }
}

void Linker::rewrite(Operand& operand, std::size_t m) {
  if (operand.kind == Operand::Kind::Symbol) operand.index = identities_[m][operand.index];
  for (Operand& element : operand.elements)
    rewrite(element, m);
}

}  // namespace

Result<Module> link(std::vector<Module> modules) {
  return Linker(std::move(modules)).link();
}

}  // namespace cuco::ptx
