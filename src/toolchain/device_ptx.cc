// SPDX-License-Identifier: Apache-2.0
#include "toolchain/device_ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include <cxxabi.h>

#include "base/text.h"

namespace cuco::toolchain {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

/// A function with its body, or a variable: text, name, and the names that it uses.
struct Item {
  std::string name;
  std::string text;
  bool entry = false;
  bool variable = false;
  bool body = false;
};

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_name_char(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_name_char(text[end]))
      ++end;
    names.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return names;
}

/// The last name before the parameters, the size, the value or the end.
std::string declared_name(std::string_view head) {
  const auto names = names_in(head);
  return names.empty() ? std::string() : names.back();
}

/// .func (.param .b32 r) name (...): a result in parentheses comes before the name.
std::string function_name(std::string_view text) {
  std::size_t at = text.find(".func");
  at = at == std::string_view::npos ? text.find(".entry") + 6 : at + 5;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'))
    ++at;
  if (at < text.size() && text[at] == '(') at = text.find(')', at) + 1;
  return declared_name(text.substr(at, text.find_first_of("({;\n", at + 1) - at));
}

/// Everything at the outermost level, in order. Directives about the file and its line tables are
/// items without a name.
std::vector<Item> items_of(std::string_view ptx) {
  std::vector<Item> items;
  std::string text;
  int depth = 0;
  const auto finish = [&](bool body) {
    Item item{.name = {}, .text = std::move(text), .body = body};
    text.clear();
    const std::string_view all = item.text;
    const std::string_view head = all.substr(0, all.find('{'));
    item.entry = head.find(".entry") != std::string_view::npos;
    const bool function = item.entry || head.find(".func") != std::string_view::npos;
    item.variable = !function && (head.find(".global") != std::string_view::npos ||
                                  head.find(".const") != std::string_view::npos ||
                                  head.find(".shared") != std::string_view::npos);
    if (function) item.name = function_name(all);
    if (item.variable) item.name = declared_name(all.substr(0, all.find_first_of("[=;")));
    items.push_back(std::move(item));
  };
  for (const std::string_view line : split(ptx, '\n')) {
    text += std::string(line) + "\n";
    const std::string_view bare = trim(line);
    if (bare.starts_with("//")) {
      if (depth == 0 && trim(text).starts_with("//") && text.find('\n') + 1 == text.size())
        finish(false);
      continue;
    }
    bool closed = false;
    bool quoted = false;
    for (const char c : bare) {
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == '{') ++depth;
      if (c == '}') closed = --depth == 0;
    }
    const bool starts_function =
        text.find(".entry") != std::string::npos || text.find(".func") != std::string::npos;
    if (depth == 0 && (closed || bare.ends_with(";") || bare.empty() ||
                       (!starts_function && bare.starts_with(".")))) {
      finish(closed);
    }
  }
  if (!trim(text).empty()) finish(false);
  return items;
}

/// "43_GLOBAL__N__10b1a5f6_10_program_cu_5e13d1c4": how things in unnamed namespaces are called.
/// Its length has two digits, whatever the numbers: the file is always program.cu. More may stand
/// before them, of another mark ("…5e13d1c443_GLOBAL…").
std::set<std::string> module_marks(std::string_view ptx) {
  constexpr std::size_t kDigits = 2;
  std::set<std::string> marks;
  for (const std::string_view kind : {"_GLOBAL__N_", "_INTERNAL_"}) {
    for (std::size_t at = ptx.find(kind); at != std::string_view::npos;
         at = ptx.find(kind, at + 1)) {
      if (at < kDigits) continue;
      const auto length = static_cast<std::size_t>(
          std::atoi(std::string(ptx.substr(at - kDigits, kDigits)).c_str()));
      if (length < kind.size() || at + length > ptx.size()) continue;
      marks.emplace(ptx.substr(at - kDigits, kDigits + length));
    }
  }
  return marks;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string kind_of_mark(std::string_view mark) {
  return mark.find("_GLOBAL__N_") != std::string_view::npos ? "_GLOBAL__N_" : "_INTERNAL_";
}

/// With the same marks in both: those of nvcc, or where it has none a plain one.
std::optional<std::string> with_marks(std::string_view ptx, std::string_view nvcc) {
  std::map<std::string, std::string> wanted;
  for (const std::string& mark : module_marks(nvcc)) {
    if (!wanted.emplace(kind_of_mark(mark), mark).second) return std::nullopt;
  }
  std::string text(ptx);
  for (const std::string& mark : module_marks(ptx)) {
    const auto found = wanted.find(kind_of_mark(mark));
    text = replace_all(std::move(text), mark,
                       found != wanted.end() ? found->second : "1" + kind_of_mark(mark));
  }
  return text;
}

/// What is left when variables that nothing refers to are gone, but for those in `kept`.
std::vector<Item> without_unused(std::vector<Item> items, const std::set<std::string>& kept = {}) {
  for (bool removed = true; removed;) {
    std::map<std::string, int> uses;
    for (const Item& item : items) {
      for (const std::string& name : names_in(item.text))
        ++uses[name];
    }
    removed = std::erase_if(items, [&](const Item& item) {
                return item.variable && uses[item.name] == 1 && !kept.contains(item.name);
              }) > 0;
  }
  return items;
}

/// As it would be written without line information, and labels without the function's number.
std::string normalised(std::string_view text) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view bare = trim(line);
    if (bare.empty() || bare.starts_with(".loc") || bare.starts_with("//")) continue;
    result += bare;
    result += '\n';
  }
  for (const std::string_view prefix : {"$L__BB", "__local_depot"}) {
    for (std::size_t at = result.find(prefix); at != std::string::npos;
         at = result.find(prefix, at + 1)) {
      std::size_t end = at + prefix.size();
      while (end < result.size() && std::isdigit(static_cast<unsigned char>(result[end])) != 0)
        ++end;
      result.erase(at + prefix.size(), end - at - prefix.size());
    }
  }
  return result;
}

std::map<std::string, std::string> code_of(std::string_view ptx) {
  std::map<std::string, std::string> code;
  for (const Item& item : without_unused(items_of(ptx))) {
    // Line tables have braces, too, but no name.
    if ((item.body || item.variable) && !item.name.empty()) code[item.name] = normalised(item.text);
  }
  return code;
}

/// Parameters of kernels and sizes of variables: what the host's half relies on.
std::map<std::string, std::string> interface_of(const std::vector<Item>& items) {
  std::map<std::string, std::string> parts;
  for (const Item& item : items) {
    if (item.entry && item.body) {
      const std::string_view text = item.text;
      parts[item.name] = normalised(text.substr(0, text.find(')')));
    }
    if (item.variable) parts[item.name] = normalised(item.text);
  }
  return parts;
}

}  // namespace

std::vector<std::string> template_kernels(std::string_view ptx) {
  std::vector<std::string> names;
  for (const Item& item : items_of(ptx)) {
    if (!item.entry || !item.body) continue;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(item.name.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || plain == nullptr) continue;
    std::string text = replace_all(plain.get(), "(anonymous namespace)::", "");
    // Only instances of templates are shown with what they return.
    if (!text.starts_with("void ")) continue;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '<') ++depth;
      if (text[i] == '>') --depth;
      if (text[i] == '(' && depth == 0) {
        names.push_back(text.substr(5, i - 5));
        break;
      }
    }
  }
  return names;
}

std::optional<std::string> fit_ptx(std::string_view ptx, std::string_view nvcc) {
  const auto renamed = with_marks(ptx, nvcc);
  if (!renamed) return std::nullopt;
  // A variable that the host may have registered must be there, used or not, and as it was.
  const auto wanted_items = items_of(nvcc);
  std::set<std::string> kept;
  for (const Item& item : wanted_items) {
    if (item.variable) kept.insert(item.name);
  }
  const auto items = without_unused(items_of(*renamed), kept);
  const auto have = interface_of(items);
  for (const auto& [name, text] : interface_of(wanted_items)) {
    const auto found = have.find(name);
    if (found == have.end() || found->second != text) return std::nullopt;
  }
  std::string text;
  std::size_t kernels = 0;
  for (const Item& item : items) {
    text += item.text;
    if (item.entry && item.body) ++kernels;
  }
  const auto wanted_kernels =
      std::ranges::count_if(wanted_items, [](const Item& item) { return item.entry && item.body; });
  if (kernels != static_cast<std::size_t>(wanted_kernels)) return std::nullopt;
  return text;
}

std::string without_module_number(std::string text) {
  struct Digits {
    std::size_t at;
    std::size_t count;
  };
  const auto hex_digits = [&](std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end])) != 0)
      ++end;
    return end - at;
  };
  constexpr std::string_view kFile = "_10_program_cu_";
  constexpr std::size_t kNumber = 8;
  std::vector<Digits> found;
  std::set<std::string> numbers;
  for (const std::string_view kind : {"_GLOBAL__N__", "_INTERNAL_"}) {
    for (std::size_t at = text.find(kind); at != std::string::npos; at = text.find(kind, at + 1)) {
      const std::size_t first = at + kind.size();
      const std::size_t count = hex_digits(first);
      if (count == 0 || text.compare(first + count, kFile.size(), kFile) != 0) continue;
      std::string number = text.substr(first, count);
      found.push_back({first, count});
      // The name of a file's first function follows, or a second number where it has none.
      const std::size_t second = first + count + kFile.size();
      if (hex_digits(second) >= kNumber) {
        number += text.substr(second, kNumber);
        found.push_back({second, kNumber});
      }
      numbers.insert(std::move(number));
    }
  }
  if (numbers.size() != 1) return text;
  for (const Digits& digits : found)
    text.replace(digits.at, digits.count, digits.count, '0');
  return text;
}

std::string canonical_ptx(std::string_view ptx) {
  std::string text;
  for (const auto& [name, code] : code_of(without_module_number(std::string(ptx))))
    text += name + "\n" + code;
  // What has no name is about the file and its lines, or something that we do not know.
  for (const Item& item : items_of(ptx)) {
    if (!item.name.empty()) continue;
    const std::string bare = normalised(item.text);
    const bool known = std::ranges::any_of(
        std::initializer_list<std::string_view>{".version", ".target", ".address_size", ".file",
                                                ".section", "{"},  // a section's contents
        [&](std::string_view word) { return bare.starts_with(word); });
    if (!bare.empty() && !known) text += bare;
  }
  return text;
}

std::optional<std::string> first_difference(std::string_view one, std::string_view other) {
  const auto a = code_of(one);
  const auto b = code_of(other);
  for (const auto& [name, text] : a) {
    const auto found = b.find(name);
    if (found == b.end() || found->second != text) return name;
  }
  for (const auto& [name, text] : b) {
    if (!a.contains(name)) return name;
  }
  return std::nullopt;
}

}  // namespace cuco::toolchain
