// SPDX-License-Identifier: Apache-2.0
#include "ptx/print.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

namespace cuco::ptx {
namespace {

/// Makes names unique, keeping the original if possible: linking may bring the same one twice.
class UniqueNames {
 public:
  explicit UniqueNames(const UniqueNames* outer = nullptr) : outer_(outer) {}

  std::string take(std::string name, std::size_t index) {
    // Names made by the parser ("v.0", "function::static") are not valid PTX.
    std::replace(name.begin(), name.end(), '.', '$');
    std::replace(name.begin(), name.end(), ':', '$');
    // These two have a meaning of their own.
    if (name == "_" || name == "WARP_SZ") name += '$';
    std::string unique = name;
    while (knows(unique))
      unique = fmt::format("{}${}", name, index++);
    taken_.insert(unique);
    return unique;
  }

 private:
  [[nodiscard]] bool knows(const std::string& name) const {
    return taken_.contains(name) || (outer_ != nullptr && outer_->knows(name));
  }

  const UniqueNames* outer_;
  std::unordered_set<std::string> taken_;
};

/// The names that operands of a function are printed with: new ones, or as declared.
struct Names {
  const Module* module = nullptr;
  const Function* function = nullptr;
  std::vector<std::string> symbols;
  std::vector<std::string> registers;
  std::vector<std::string> variables;

  [[nodiscard]] const std::string& symbol(std::uint32_t i) const {
    return symbols.empty() ? module->symbols[i].name : symbols[i];
  }
  [[nodiscard]] const std::string& reg(std::uint32_t i) const {
    return registers.empty() ? function->registers[i].name : registers[i];
  }
  [[nodiscard]] const std::string& variable(std::uint32_t i) const {
    return variables.empty() ? function->variables[i].name : variables[i];
  }
};

std::string_view linkage_word(Linkage linkage) {
  switch (linkage) {
    case Linkage::Visible:
      return ".visible ";
    case Linkage::Extern:
      return ".extern ";
    case Linkage::Weak:
      return ".weak ";
    case Linkage::Common:
      return ".common ";
    default:
      return "";
  }
}

std::string_view space_word(Space space) {
  switch (space) {
    case Space::Reg:
      return ".reg";
    case Space::Const:
      return ".const";
    case Space::Local:
      return ".local";
    case Space::Param:
      return ".param";
    case Space::Shared:
      return ".shared";
    default:
      return ".global";
  }
}

std::string with_addend(std::string base, std::int64_t addend) {
  if (addend != 0) base += fmt::format("+{}", addend);
  return base;
}

std::string operand_text(const Function& function, const Names& names, const Operand& operand);

std::string elements_text(const Function& function, const Names& names, const Operand& operand) {
  std::string text;
  for (const Operand& element : operand.elements) {
    if (!text.empty()) text += ", ";
    text += operand_text(function, names, element);
  }
  return text;
}

std::string register_text(const Function& function, const Names& names, const Operand& operand) {
  constexpr std::array<std::string_view, 7> kParts = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
  const bool is_predicate = function.registers[operand.index].type == Type::Pred;
  const std::string_view sign = !operand.negated ? "" : is_predicate ? "!" : "-";
  return fmt::format("{}{}{}", sign, names.reg(operand.index),
                     kParts[static_cast<std::size_t>(operand.part)]);
}

std::string address_text(const Function& function, const Names& names, const Operand& operand) {
  std::string text = "[" + operand_text(function, names, operand.elements[0]);
  text = with_addend(std::move(text), operand.value);
  for (std::size_t i = 1; i < operand.elements.size(); ++i) {
    text += ", " + operand_text(function, names, operand.elements[i]);
  }
  return text + "]";
}

std::string operand_text(const Function& function, const Names& names, const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::None:
      return "_";
    case Operand::Kind::Register:
      return register_text(function, names, operand);
    case Operand::Kind::Special:
      // %pm0 stands for all special registers that are not supported.
      return operand.special == SpecialRegister::None ? "%pm0"
                                                      : std::string(spelling(operand.special));
    case Operand::Kind::Integer:
      return fmt::format("{}", operand.value);
    case Operand::Kind::Float:
      // By bits: no decimal text gives back every NaN.
      return operand.is_f32 ? fmt::format("0f{:08X}", static_cast<std::uint32_t>(operand.value))
                            : fmt::format("0d{:016X}", static_cast<std::uint64_t>(operand.value));
    case Operand::Kind::Symbol:
      return with_addend(names.symbol(operand.index), operand.value);
    case Operand::Kind::Local:
      return with_addend(names.variable(operand.index), operand.value);
    case Operand::Kind::Label:
      return fmt::format("$L{}", operand.index);
    case Operand::Kind::Address:
      return address_text(function, names, operand);
    case Operand::Kind::Vector:
      return "{" + elements_text(function, names, operand) + "}";
    case Operand::Kind::Pair:
      return operand_text(function, names, operand.elements[0]) + "|" +
             operand_text(function, names, operand.elements[1]);
  }
  return "";
}

std::string list_text(const Function& function,
                      const Names& names,
                      const std::vector<Operand>& operands) {
  std::string text = "(";
  for (const Operand& operand : operands) {
    if (text.size() > 1) text += ", ";
    text += operand_text(function, names, operand);
  }
  return text + ")";
}

std::string call_text(const Function& function, const Names& names, const CallSite& call) {
  std::string text;
  if (!call.returns.empty()) text += list_text(function, names, call.returns) + ", ";
  text += operand_text(function, names, call.target);
  if (!call.arguments.empty() || call.prototype >= 0) {
    text += ", " + list_text(function, names, call.arguments);
  }
  if (call.prototype >= 0) text += fmt::format(", $P{}", call.prototype);
  return text;
}

std::string instruction_text(const Function& function,
                             const Names& names,
                             const Instruction& instruction) {
  std::string text;
  if (instruction.guarded) {
    text =
        fmt::format("@{}{} ", instruction.guard_negated ? "!" : "", names.reg(instruction.guard));
  }
  text += instruction.text;
  std::string_view separator = " ";
  if (instruction.call >= 0) {
    const CallSite& call = function.calls[static_cast<std::size_t>(instruction.call)];
    return text + " " + call_text(function, names, call) + ";";
  }
  for (const Operand& operand : instruction.operands) {
    text += separator;
    text += operand_text(function, names, operand);
    separator = ", ";
  }
  if (instruction.targets >= 0) text += fmt::format("{}$T{}", separator, instruction.targets);
  return text + ";";
}

class ModulePrinter {
 public:
  explicit ModulePrinter(const Module& module)
      : module_(module), function_symbol_(module.functions.size(), UINT32_MAX) {}

  std::string print() {
    name_symbols();
    out_ = fmt::format(".version {}.{}\n.target {}\n.address_size 64\n\n", module_.version_major,
                       module_.version_minor, module_.target);
    // All functions are declared first, so that bodies and initialisers may name any of them.
    for (std::uint32_t i = 0; i < module_.functions.size(); ++i)
      declare(i);
    emitted_.assign(module_.symbols.size(), false);
    for (std::uint32_t s = 0; s < module_.symbols.size(); ++s)
      define_variable(s);
    for (std::uint32_t i = 0; i < module_.functions.size(); ++i)
      define(i);
    for (std::uint32_t s = 0; s < module_.symbols.size(); ++s)
      alias(s);
    for (std::size_t i = 1; i < module_.files.size(); ++i) {
      out_ += fmt::format(".file {} \"{}\"\n", i, module_.files[i]);
    }
    return std::move(out_);
  }

 private:
  /// The symbol that a function is defined under; its other symbols are aliases.
  void name_symbols() {
    for (std::uint32_t s = 0; s < module_.symbols.size(); ++s) {
      const Symbol& symbol = module_.symbols[s];
      names_.symbols.push_back(unique_.take(symbol.name, s));
      if (symbol.kind != Symbol::Kind::Function) continue;
      std::uint32_t& owner = function_symbol_[symbol.index];
      if (owner == UINT32_MAX || module_.functions[symbol.index].name == symbol.name) owner = s;
    }
  }

  static std::string declarator(const Variable& variable, const std::string& name) {
    const std::uint32_t element = size_of(variable.type);
    const bool is_array = variable.bytes != element;
    std::string text = fmt::format("{} ", space_word(variable.space));
    if (variable.space != Space::Reg && variable.align != element) {
      text += fmt::format(".align {} ", variable.align);
    }
    text += fmt::format(".{} {}", spelling(variable.type), name);
    // `x[]`: the size comes from another module or, for shared memory, from the launch.
    const bool is_open = variable.bytes == 0 &&
                         (variable.linkage == Linkage::Extern || variable.space == Space::Param);
    if (is_open) return text + "[]";
    return is_array ? text + fmt::format("[{}]", variable.bytes / element) : text;
  }

  /// `(.ret r) name (.params)`; the names come from `names`, returns first, or are all `_`.
  static std::string signature(const std::vector<Variable>& returns,
                               const std::string& function,
                               const std::vector<Variable>& parameters,
                               const std::vector<std::string>* names) {
    std::size_t next = 0;
    const auto list = [&](const std::vector<Variable>& variables) {
      std::string text = "(";
      for (const Variable& variable : variables) {
        if (text.size() > 1) text += ", ";
        text += declarator(variable, names == nullptr ? "_" : (*names)[next]);
        ++next;
      }
      return text + ")";
    };
    std::string text;
    if (!returns.empty()) text = list(returns) + " ";
    return text + function + " " + list(parameters);
  }

  std::string head(std::uint32_t index, const std::vector<std::string>* names) {
    const Function& function = module_.functions[index];
    return fmt::format("{}{} {}", linkage_word(function.linkage),
                       function.is_entry ? ".entry" : ".func",
                       signature(function.returns, names_.symbols[function_symbol_[index]],
                                 function.parameters, names));
  }

  void declare(std::uint32_t index) {
    // A declaration that an alias replaced has no symbol left.
    if (function_symbol_[index] == UINT32_MAX) return;
    const Function& function = module_.functions[index];
    std::vector<std::string> names;
    for (std::size_t i = 0; i < function.returns.size() + function.parameters.size(); ++i) {
      names.push_back(fmt::format("p{}", i));
    }
    out_ += head(index, &names) + (function.no_return ? " .noreturn;\n" : ";\n");
  }

  /// Variables whose addresses an initialiser holds come first; nvcc makes no cycles, and a hostile
  /// one only costs the order.
  void define_variable(std::uint32_t start) {
    std::vector<std::uint32_t> stack = {start};
    while (!stack.empty()) {
      const std::uint32_t s = stack.back();
      const Symbol& symbol = module_.symbols[s];
      if (symbol.kind != Symbol::Kind::Variable || emitted_[s] == kEmitted) {
        stack.pop_back();
        continue;
      }
      const Variable& variable = module_.variables[symbol.index];
      if (emitted_[s] == kNew) {
        emitted_[s] = kWaiting;
        for (const Relocation& relocation : variable.relocations) {
          if (emitted_[relocation.symbol] == kNew) stack.push_back(relocation.symbol);
        }
        continue;
      }
      emitted_[s] = kEmitted;
      stack.pop_back();
      out_ += linkage_word(symbol.linkage);
      std::string text = declarator(variable, names_.symbols[s]);
      if (variable.managed) text.insert(text.find(' '), " .attribute(.managed)");
      out_ += text + initialiser(variable) + ";\n";
    }
  }

  [[nodiscard]] std::string initialiser(const Variable& variable) const {
    if (variable.init.empty()) return "";
    const std::uint32_t element = size_of(variable.type);
    std::unordered_map<std::uint64_t, const Relocation*> relocations;
    for (const Relocation& relocation : variable.relocations) {
      relocations[relocation.offset] = &relocation;
    }
    std::string text;
    for (std::uint64_t at = 0; at < variable.init.size(); at += element) {
      if (at != 0) text += ", ";
      const auto relocation = relocations.find(at);
      if (relocation != relocations.end()) {
        text += relocation_text(*relocation->second);
        continue;
      }
      std::uint64_t bits = 0;
      std::memcpy(&bits, variable.init.data() + at, std::min<std::size_t>(element, 8));
      const bool is_f32 = variable.type == Type::F32;
      text += is_f32                       ? fmt::format("0f{:08X}", bits)
              : variable.type == Type::F64 ? fmt::format("0d{:016X}", bits)
                                           : fmt::format("{}", bits);
    }
    return variable.bytes == element ? " = " + text : " = {" + text + "}";
  }

  [[nodiscard]] std::string relocation_text(const Relocation& relocation) const {
    const std::string& name = names_.symbols[relocation.symbol];
    std::string text = relocation.generic ? "generic(" + name + ")" : name;
    text = with_addend(std::move(text), relocation.addend);
    // One byte of an address: `0xFF00(symbol)`.
    if (relocation.bytes != 1) return text;
    return fmt::format("0x{:X}({})", std::uint64_t{0xFF} << relocation.shift, text);
  }

  void define(std::uint32_t index) {
    const Function& function = module_.functions[index];
    if (!function.has_body) return;
    name_locals(function);
    out_ += "\n" + head(index, &names_.variables) + directives(function) + "\n{\n";
    declare_locals(function);
    body(function);
    out_ += "}\n";
  }

  void name_locals(const Function& function) {
    UniqueNames unique(&unique_);
    names_.registers.clear();
    names_.variables.clear();
    for (std::size_t i = 0; i < function.registers.size(); ++i) {
      names_.registers.push_back(unique.take(function.registers[i].name, i));
    }
    // Parameters in registers have an entry in both lists, and one name.
    std::size_t in_registers = 0;
    for (std::size_t i = 0; i < function.variables.size(); ++i) {
      const Variable& variable = function.variables[i];
      names_.variables.push_back(variable.space == Space::Reg ? names_.registers[in_registers++]
                                                              : unique.take(variable.name, i));
    }
    signature_registers_ = in_registers;
  }

  static std::string directives(const Function& function) {
    std::string text;
    const auto extents = [&](const char* name, const std::array<std::uint32_t, 3>& values) {
      text += fmt::format("\n.{} {}, {}, {}", name, values[0], values[1], values[2]);
    };
    if (function.max_threads) extents("maxntid", *function.max_threads);
    if (function.required_threads) extents("reqntid", *function.required_threads);
    if (function.cluster) {
      text += "\n.explicitcluster";
      extents("reqnctapercluster", *function.cluster);
    }
    if (function.min_blocks_per_sm != 0) {
      text += fmt::format("\n.minnctapersm {}", function.min_blocks_per_sm);
    }
    if (function.max_registers != 0) text += fmt::format("\n.maxnreg {}", function.max_registers);
    if (function.no_return) text += "\n.noreturn";
    return text;
  }

  void declare_locals(const Function& function) {
    for (std::size_t i = signature_registers_; i < function.registers.size(); ++i) {
      out_ += fmt::format("\t.reg .{} {};\n", spelling(function.registers[i].type),
                          names_.registers[i]);
    }
    const std::size_t first = function.returns.size() + function.parameters.size();
    for (std::size_t i = first; i < function.variables.size(); ++i) {
      const Variable& variable = function.variables[i];
      out_ += "\t" + declarator(variable, names_.variables[i]) + initialiser(variable) + ";\n";
    }
    for (std::size_t i = 0; i < function.branch_targets.size(); ++i) {
      out_ += fmt::format("\t$T{}: .branchtargets ", i);
      std::string_view separator;
      for (const std::uint32_t target : function.branch_targets[i]) {
        out_ += fmt::format("{}$L{}", separator, target);
        separator = ", ";
      }
      out_ += ";\n";
    }
    for (std::size_t i = 0; i < function.prototypes.size(); ++i) {
      const Prototype& prototype = function.prototypes[i];
      out_ += fmt::format("\t$P{}: .callprototype {};\n", i,
                          signature(prototype.returns, "_", prototype.parameters, nullptr));
    }
  }

  void body(const Function& function) {
    // Labels are numbered by instruction; only those that something jumps to are printed.
    std::vector<bool> is_target(function.instructions.size() + 1, false);
    for (const Instruction& instruction : function.instructions) {
      for (const Operand& operand : instruction.operands) {
        if (operand.kind == Operand::Kind::Label) is_target[operand.index] = true;
      }
    }
    for (const auto& targets : function.branch_targets) {
      for (const std::uint32_t target : targets)
        is_target[target] = true;
    }
    SourceLine line;
    auto pragma = function.pragmas.begin();
    for (std::size_t i = 0; i < function.instructions.size(); ++i) {
      const Instruction& instruction = function.instructions[i];
      if (is_target[i]) out_ += fmt::format("$L{}:\n", i);
      for (; pragma != function.pragmas.end() && pragma->instruction == i; ++pragma) {
        out_ += fmt::format("\t.pragma \"{}\";\n", pragma->text);
      }
      // The caller of an inlined line is not printed: a module that is read again has the line
      // only.
      if (instruction.source.line != 0 && instruction.source != line) {
        line = instruction.source;
        out_ += fmt::format("\t.loc {} {} 0\n", line.file, line.line);
      }
      out_ += "\t" + instruction_text(function, names_, instruction) + "\n";
    }
    if (is_target.back()) out_ += fmt::format("$L{}:\n", function.instructions.size());
  }

  /// PTX wants a declaration of the alias with the target's signature.
  void alias(std::uint32_t s) {
    const Symbol& symbol = module_.symbols[s];
    if (symbol.kind != Symbol::Kind::Function || function_symbol_[symbol.index] == s) return;
    const Function& target = module_.functions[symbol.index];
    std::vector<std::string> names;
    for (std::size_t i = 0; i < target.returns.size() + target.parameters.size(); ++i) {
      names.push_back(fmt::format("p{}", i));
    }
    out_ += fmt::format("{}.func {};\n.alias {}, {};\n", linkage_word(symbol.linkage),
                        signature(target.returns, names_.symbols[s], target.parameters, &names),
                        names_.symbols[s], names_.symbols[function_symbol_[symbol.index]]);
  }

  enum State : char { kNew, kWaiting, kEmitted };

  const Module& module_;
  UniqueNames unique_;
  Names names_;
  std::vector<std::uint32_t> function_symbol_;  ///< By function.
  std::size_t signature_registers_ = 0;
  std::vector<char> emitted_;  ///< State, by symbol.
  std::string out_;
};

}  // namespace

std::string print(const Module& module) {
  return ModulePrinter(module).print();
}

std::string print(const Module& module, const Function& function, const Instruction& instruction) {
  Names names;
  names.module = &module;
  names.function = &function;
  return instruction_text(function, names, instruction);
}

}  // namespace cuco::ptx
