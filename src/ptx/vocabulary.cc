// SPDX-License-Identifier: Apache-2.0
#include "ptx/vocabulary.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cuco::ptx {
namespace {

#define CUCO_PTX_SPELLING(name, spelling) std::string_view(spelling),
constexpr std::array kOpcodes = {CUCO_PTX_OPCODES(CUCO_PTX_SPELLING)};
constexpr std::array kTypes = {CUCO_PTX_TYPES(CUCO_PTX_SPELLING)};
constexpr std::array kModifiers = {CUCO_PTX_MODIFIERS(CUCO_PTX_SPELLING)};
constexpr std::array kSpecials = {CUCO_PTX_SPECIAL_REGISTERS(CUCO_PTX_SPELLING)};
#undef CUCO_PTX_SPELLING

// The enumerators must fit the one byte that instructions store.
static_assert(kOpcodes.size() < 255 && kModifiers.size() < 255 && kSpecials.size() < 255);

/// Enumerators sorted by spelling. Enumerator 0 (Unknown, None) has no spelling, hence the + 1.
template <typename Word, std::size_t N>
constexpr auto sorted(const std::array<std::string_view, N>& spellings) {
  std::array<std::pair<std::string_view, Word>, N> index;
  for (std::size_t i = 0; i < N; ++i)
    index[i] = {spellings[i], static_cast<Word>(i + 1)};
  std::sort(index.begin(), index.end());
  return index;
}

constexpr auto kOpcodeIndex = sorted<Opcode>(kOpcodes);
constexpr auto kTypeIndex = sorted<Type>(kTypes);
constexpr auto kModifierIndex = sorted<Modifier>(kModifiers);
constexpr auto kSpecialIndex = sorted<SpecialRegister>(kSpecials);

template <typename Word, std::size_t N>
Word find(const std::array<std::pair<std::string_view, Word>, N>& index, std::string_view word) {
  const auto found = std::lower_bound(
      index.begin(), index.end(), word,
      [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  return found != index.end() && found->first == word ? found->second : Word{};
}

template <typename Word, std::size_t N>
std::string_view spelling_in(const std::array<std::string_view, N>& spellings,
                             Word word,
                             std::string_view none) {
  const auto index = static_cast<std::size_t>(word);
  return index == 0 || index > N ? none : spellings[index - 1];
}

}  // namespace

Opcode find_opcode(std::string_view word) {
  return find(kOpcodeIndex, word);
}
Modifier find_modifier(std::string_view word) {
  return find(kModifierIndex, word);
}

std::optional<Type> find_type(std::string_view word) {
  const Type type = find(kTypeIndex, word);
  return type == Type::None ? std::nullopt : std::optional(type);
}

std::optional<SpecialRegister> find_special_register(std::string_view word) {
  const SpecialRegister special = find(kSpecialIndex, word);
  return special == SpecialRegister::None ? std::nullopt : std::optional(special);
}

std::string_view spelling(Opcode opcode) {
  return spelling_in(kOpcodes, opcode, "unknown");
}
std::string_view spelling(Modifier modifier) {
  return spelling_in(kModifiers, modifier, "unknown");
}
std::string_view spelling(Type type) {
  return spelling_in(kTypes, type, "none");
}
std::string_view spelling(SpecialRegister special) {
  return spelling_in(kSpecials, special, "unknown");
}

std::uint32_t size_of(Type type) {
  switch (type) {
    case Type::None:
      return 0;
    case Type::B16:
    case Type::U16:
    case Type::S16:
    case Type::F16:
    case Type::Bf16:
    case Type::E4m3x2:
    case Type::E5m2x2:
    case Type::E2m3x2:
    case Type::E3m2x2:
    case Type::Ue8m0x2:
      return 2;
    case Type::B32:
    case Type::U32:
    case Type::S32:
    case Type::U16x2:
    case Type::S16x2:
    case Type::F16x2:
    case Type::Bf16x2:
    case Type::Tf32:
    case Type::F32:
      return 4;
    case Type::B64:
    case Type::U64:
    case Type::S64:
    case Type::F64:
    case Type::F32x2:
      return 8;
    case Type::B128:
      return 16;
    default:  // Predicates, bytes and what is narrower than a byte.
      return 1;
  }
}

}  // namespace cuco::ptx
