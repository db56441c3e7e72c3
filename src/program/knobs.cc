// SPDX-License-Identifier: Apache-2.0
#include "program/knobs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "program/regions.h"
#include "program/tokens.h"

namespace cuco::program {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0)
    ++at;
  return at;
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// A decimal literal above 0 that begins there, with digit separators and suffixes.
std::optional<Knob> number_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  std::string digits;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
    } else if (c != '\'' || end + 1 >= text.size() ||
               std::isdigit(static_cast<unsigned char>(text[end + 1])) == 0) {
      break;
    }
  }
  // Octal and hexadecimal numbers are masks and flags, seldom sizes.
  if (digits.empty() || digits.front() == '0') return std::nullopt;
  Knob knob{.begin = at, .end = end};
  const auto [last, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), knob.value);
  if (error != std::errc() || last != digits.data() + digits.size()) return std::nullopt;
  while (end < text.size() && std::string_view("uUlLzZ").find(text[end]) != kNowhere)
    ++end;
  const bool ends = end == text.size() || (!is_name_char(text[end]) && text[end] != '.');
  return ends ? std::optional(knob) : std::nullopt;
}

std::size_t behind_number(std::string_view text, const Knob& knob) {
  std::size_t at = knob.end;
  while (at < text.size() && is_name_char(text[at]))
    ++at;
  return at;
}

/// Behind "(size_t)", where there is such a cast.
std::size_t skip_cast(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '(') return at;
  auto end = skip_blanks(text, at + 1);
  while (end < text.size() && is_name_char(text[end]))
    ++end;
  end = skip_blanks(text, end);
  return end < text.size() && text[end] == ')' ? skip_blanks(text, end + 1) : at;
}

/// Behind "<< 10" or "* 1024", where that follows: the unit that the number is in.
std::size_t skip_unit(std::string_view text, std::size_t at) {
  if (at >= text.size()) return at;
  const bool shifted = text.compare(at, 2, "<<") == 0;
  if (!shifted && text.compare(at, 1, "*") != 0) return at;
  const auto unit = number_at(text, skip_blanks(text, at + (shifted ? 2 : 1)));
  return unit ? skip_blanks(text, behind_number(text, *unit)) : at;
}

/// Whether the declaration of the name that begins at `at` fixes its value when the program is
/// built.
bool is_constant(std::string_view text, std::size_t at) {
  const auto before = text.find_last_of(";{}", at);
  const auto begin = before == kNowhere ? 0 : before + 1;
  const auto declaration = text.substr(begin, at - begin);
  // A parameter with a default is not fixed.
  if (declaration.find('(') != kNowhere) return false;
  for (const Identifier& word : identifiers(declaration)) {
    if (word.name == "constexpr" || word.name == "const" || word.name == "template") return true;
  }
  return false;
}

/// "NAME = 16;", "NAME{16};", "NAME = 16," or "NAME = 16>".
std::optional<Knob> declared(std::string_view text, const Identifier& name) {
  auto at = skip_blanks(text, name.begin + name.name.size());
  if (at >= text.size() || (text[at] != '=' && text[at] != '{')) return std::nullopt;
  const bool braced = text[at] == '{';
  auto knob = number_at(text, skip_cast(text, skip_blanks(text, at + 1)));
  if (!knob) return std::nullopt;
  at = skip_unit(text, skip_blanks(text, behind_number(text, *knob)));
  if (braced && (at >= text.size() || text[at] != '}')) return std::nullopt;
  if (braced) at = skip_blanks(text, at + 1);
  if (at >= text.size() || std::string_view(";,>").find(text[at]) == kNowhere) return std::nullopt;
  if (!is_constant(text, name.begin)) return std::nullopt;
  knob->name = std::string(name.name);
  return knob;
}

/// "#define NAME 16" and nothing behind it but a comment.
std::optional<Knob> defined(std::string_view text, const Identifier& name) {
  const auto line = text.find_last_of('\n', name.begin);
  const auto begin = line == kNowhere ? 0 : line + 1;
  std::string_view before = trim(text.substr(begin, name.begin - begin));
  if (!before.starts_with('#') || trim(before.substr(1)) != "define") return std::nullopt;
  auto at = name.begin + name.name.size();
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
    ++at;
  auto knob = number_at(text, at);
  if (!knob || knob->begin == name.begin + name.name.size()) return std::nullopt;
  at = behind_number(text, *knob);
  const auto end = std::min(text.find('\n', at), text.size());
  const auto rest = trim(text.substr(at, end - at));
  if (!rest.empty() && !rest.starts_with("//") && !rest.starts_with("/*")) return std::nullopt;
  knob->name = std::string(name.name);
  return knob;
}

/// "gemm<128, 4><<<": the arguments that are numbers.
std::vector<Knob> launched(std::string_view text, const Identifier& name) {
  std::size_t at = skip_blanks(text, name.begin + name.name.size());
  if (at >= text.size() || text[at] != '<' || text.compare(at, 3, "<<<") == 0) return {};
  const auto close = text.find('>', at);
  // Nested templates are not numbers that anybody would turn.
  if (close == kNowhere || text.substr(at + 1, close - at - 1).find('<') != kNowhere) return {};
  const auto launch = skip_blanks(text, close + 1);
  if (launch >= text.size() || text.compare(launch, 3, "<<<") != 0) return {};
  std::vector<Knob> list;
  int position = 1;
  for (++at; at < close; ++position) {
    const auto end = std::min(text.find(',', at), close);
    if (auto knob = number_at(text, skip_blanks(text, at));
        knob && skip_blanks(text, behind_number(text, *knob)) == end) {
      knob->name = fmt::format("{}<{}>", name.name, position);
      list.push_back(*std::move(knob));
    }
    at = end + 1;
  }
  return list;
}

/// Whether it may be changed at all.
bool is_open(const Knob& knob, const std::vector<Region>& regions) {
  return regions.empty() || std::any_of(regions.begin(), regions.end(), [&](const Region& region) {
           return knob.begin >= region.begin && knob.end <= region.end;
         });
}

}  // namespace

std::vector<Knob> find_knobs(std::string_view text) {
  const auto regions = find_regions(text);
  if (!regions) return {};
  std::vector<Knob> all;
  std::map<std::string, int> count;
  const auto add = [&](Knob knob) {
    ++count[knob.name];
    if (is_open(knob, *regions)) all.push_back(std::move(knob));
  };
  for (const Identifier& name : identifiers(text)) {
    if (auto knob = defined(text, name)) {
      add(*std::move(knob));
    } else if (auto constant = declared(text, name)) {
      add(*std::move(constant));
    } else {
      for (Knob& argument : launched(text, name))
        add(std::move(argument));
    }
  }
  std::erase_if(all, [&](const Knob& knob) { return count[knob.name] > 1; });
  return all;
}

std::string turned(std::string_view text, const std::vector<Turn>& turns) {
  std::string made(text);
  auto knobs = find_knobs(text);
  // From the end: places before stay where they are.
  std::reverse(knobs.begin(), knobs.end());
  for (const Knob& knob : knobs) {
    const auto turn = std::find_if(turns.begin(), turns.end(),
                                   [&](const Turn& wanted) { return wanted.knob == knob.name; });
    if (turn != turns.end())
      made.replace(knob.begin, knob.end - knob.begin, std::to_string(turn->to));
  }
  return made;
}

std::vector<Turn> turns_between(std::string_view before, std::string_view after) {
  std::map<std::string, std::int64_t> values;
  for (const Knob& knob : find_knobs(after))
    values[knob.name] = knob.value;
  std::vector<Turn> turns;
  for (const Knob& knob : find_knobs(before)) {
    const auto found = values.find(knob.name);
    if (found == values.end()) return {};
    if (found->second != knob.value) turns.push_back({knob.name, knob.value, found->second});
  }
  return turned(before, turns) == after ? turns : std::vector<Turn>();
}

std::string to_text(const std::vector<Turn>& turns) {
  std::vector<std::string> parts;
  for (const Turn& turn : turns)
    parts.push_back(fmt::format("{} {} to {}", turn.knob, turn.from, turn.to));
  return join(parts, ", ");
}

}  // namespace cuco::program
