// SPDX-License-Identifier: Apache-2.0
/// \file
/// A parsed PTX module, and several of them linked into one program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/instruction.h"

namespace cuco::ptx {

enum class Linkage : std::uint8_t { Internal, Visible, Extern, Weak, Common };
enum class Space : std::uint8_t { Generic, Reg, Const, Global, Local, Param, Shared };

/// A place in an initialiser that holds an address: `= {generic(f), buf+8}`.
struct Relocation {
  std::uint64_t offset = 0;  ///< Byte offset in the initialiser.
  std::uint32_t symbol = 0;  ///< Index into Module::symbols.
  std::int64_t addend = 0;
  bool generic = false;    ///< generic(x): a generic address, not one in x's own space.
  std::uint8_t bytes = 8;  ///< Width; mask() forms store one byte of the address.
  std::uint8_t shift = 0;  ///< mask(): right shift before storing.
};

/// A module- or function-scope variable, or a parameter.
struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::B8;
  Linkage linkage = Linkage::Internal;
  std::uint32_t align = 1;
  std::uint64_t bytes = 0;      ///< 0: `extern .shared x[]`, sized by the launch.
  bool managed = false;         ///< .attribute(.managed)
  std::vector<std::byte> init;  ///< The first bytes; what follows is zero.
  std::vector<Relocation> relocations;
};

struct Register {
  std::string name;
  Type type = Type::B32;
};

struct Prototype {
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
};

/// `.pragma "nounroll";` in a body: a wish to the compiler about what follows.
struct Pragma {
  std::uint32_t instruction = 0;  ///< It stands before this one.
  std::string text;
};

/// An entry (`__global__`) or a device function. Without a body: a declaration.
struct Function {
  std::string name;
  Linkage linkage = Linkage::Internal;
  bool is_entry = false;
  bool has_body = false;
  bool no_return = false;
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
  /// Everything addressable by Operand::Local: returns, then parameters, then .local/.shared/.param
  /// variables of the body in order of declaration.
  std::vector<Variable> variables;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<CallSite> calls;
  std::vector<Prototype> prototypes;
  std::vector<Pragma> pragmas;
  std::vector<std::vector<std::uint32_t>>
      branch_targets;  ///< .branchtargets, as instruction indices
  std::optional<std::array<std::uint32_t, 3>> max_threads;       ///< .maxntid
  std::optional<std::array<std::uint32_t, 3>> required_threads;  ///< .reqntid
  std::optional<std::array<std::uint32_t, 3>> cluster;           ///< .reqnctapercluster
  std::uint32_t min_blocks_per_sm = 0;                           ///< .minnctapersm
  std::uint32_t max_registers = 0;                               ///< .maxnreg
};

/// A module-scope name: a variable or a function. Two names may share one function (.alias).
struct Symbol {
  enum class Kind : std::uint8_t { Variable, Function };
  std::string name;
  Kind kind = Kind::Variable;
  Linkage linkage = Linkage::Internal;
  std::uint32_t index = 0;  ///< Into variables or functions.
};

struct Module {
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::string target;              ///< "sm_90"
  std::vector<std::string> files;  ///< By .file number; index 0 unused.
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Symbol> symbols;

  /// Returns the entry or function of that name, or null.
  [[nodiscard]] const Function* find_function(std::string_view name) const;
  [[nodiscard]] const Variable* find_variable(std::string_view name) const;
};

}  // namespace cuco::ptx
