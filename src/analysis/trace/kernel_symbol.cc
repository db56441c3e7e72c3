// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/kernel_symbol.h"

#include <cstdlib>
#include <memory>
#include <string_view>

#include <cxxabi.h>

namespace cuco::analysis {
namespace {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

/// Behind the template arguments that begin at `open`.
std::size_t end_of_arguments(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && --depth == 0) return i + 1;
  }
  return text.size();
}

}  // namespace

// "void fill<float>(float*, int)", "(anonymous namespace)::pack(…)".
KernelSymbol read_symbol(const std::string& symbol) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string text = demangled(symbol);
  if (const auto scope = text.find(kAnonymous); scope != std::string::npos)
    text.erase(0, scope + kAnonymous.size());
  KernelSymbol out;
  const auto end = text.find_first_of("<(");
  out.name = text.substr(0, end);
  if (end != std::string::npos && text[end] == '<')
    out.arguments = text.substr(end, end_of_arguments(text, end) - end);
  if (const auto space = out.name.rfind(' '); space != std::string::npos)
    out.name.erase(0, space + 1);
  if (const auto colon = out.name.rfind("::"); colon != std::string::npos)
    out.name.erase(0, colon + 2);
  return out;
}

}  // namespace cuco::analysis
