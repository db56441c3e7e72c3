// SPDX-License-Identifier: Apache-2.0
/// \file
/// One PTX instruction as a value: opcode word, suffixes, guard, operands.
///
/// The parser knows the grammar, not the meaning: `ld.relaxed.sys.global.v4.u32` becomes opcode Ld,
/// modifiers {Relaxed, Sys, Global, V4}, types {U32}, in the order written. What a combination
/// means, and whether it is supported, is decided by who executes it, so that an unknown
/// combination in dead code harms nobody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/vocabulary.h"

namespace cuco::ptx {

/// Where an instruction came from. `line` 0: unknown.
struct SourceLine {
  std::uint32_t file = 0;  ///< Index into Module::files.
  std::uint32_t line = 0;

  bool operator==(const SourceLine&) const = default;
};

/// Part of a register that a video instruction selects: `%r1.h0`.
enum class Part : std::uint8_t { Whole, B0, B1, B2, B3, H0, H1 };

/// An operand. Registers, symbols and labels are resolved: names are gone.
struct Operand {
  enum class Kind : std::uint8_t {
    None,      ///< `_`: the value is not wanted.
    Register,  ///< index = register of the function.
    Special,   ///< special = %tid.x and the like; None: one that we do not know (%pm0, %envreg7).
    Integer,   ///< value.
    Float,     ///< value holds the bits of a double (0d…, 1.5) or, for 0f…, of a float: see is_f32.
    Symbol,    ///< Address of a variable or function: index = symbol of the module, value = addend.
    Local,     ///< Address of a variable of the function: index into Function::variables, value =
               ///< addend.
    Label,     ///< index = instruction it stands before; may be one past the last.
    Address,   ///< [elements[0] + value]: elements[0] is Register, Symbol, Local or Integer. More
               ///< elements: `[map, {x, y}]` of tensor copies and textures.
    Vector,    ///< {elements…}
    Pair,      ///< a|b: elements[0], elements[1]
  };
  Kind kind = Kind::None;
  bool negated = false;  ///< `!p` or `-r`
  bool is_f32 = false;   ///< Float: value holds 32 bits.
  SpecialRegister special{};
  Part part = Part::Whole;  ///< Register.
  std::uint32_t index = 0;
  std::int64_t value = 0;
  std::vector<Operand> elements;
};

/// `call (ret…), target, (arg…), prototype;`
struct CallSite {
  Operand target;  ///< Symbol, or Register for an indirect call.
  std::vector<Operand> returns;
  std::vector<Operand> arguments;
  std::int32_t prototype = -1;  ///< Index into Function::prototypes, for indirect calls; a
                                ///< .calltargets list counts as its first target's prototype.
};

/// One instruction; immutable once the module is parsed.
struct Instruction {
  Opcode opcode = Opcode::Unknown;
  bool guarded = false;
  bool guard_negated = false;
  std::uint32_t guard = 0;  ///< Register index of the predicate, if guarded.
  std::vector<Modifier> modifiers;
  std::vector<Type> types;
  std::vector<Operand> operands;
  std::int32_t call = -1;     ///< Call: index into Function::calls.
  std::int32_t targets = -1;  ///< brx.idx: index into Function::branch_targets.
  std::uint32_t ptx_line = 0;
  SourceLine source;  ///< Innermost: the line of an inlined function.
  SourceLine caller;  ///< Where the function itself called what was inlined; source, if nothing.
  std::string text;   ///< The whole opcode as written: "ld.global.nc.u32".

  [[nodiscard]] bool has(Modifier wanted) const {
    for (const Modifier modifier : modifiers) {
      if (modifier == wanted) return true;
    }
    return false;
  }
};

}  // namespace cuco::ptx
