// SPDX-License-Identifier: Apache-2.0
#include "ptx/parse/parse.h"

#include <string>
#include <utility>

#include "ptx/parse/declaration.h"
#include "ptx/parse/function_parser.h"
#include "ptx/parse/lexer.h"
#include "ptx/parse/module_builder.h"

namespace cuco::ptx {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20U;
constexpr std::uint64_t kMaxFiles = 65535;

/// The module level: directives, variables, functions.
class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text)
      : tokens_(text),
        builder_(tokens_, text.size()),
        declarations_(tokens_, builder_),
        functions_(tokens_, builder_, declarations_) {}

  Result<Module> parse() {
    header();
    while (!tokens_.at(Token::Kind::End))
      item();
    if (!tokens_.failed()) builder_.finish();
    if (tokens_.failed()) return tokens_.error();
    return std::move(builder_.module());
  }

 private:
  void header();
  void item();
  void version();
  void target();
  void file();
  void variables(Linkage linkage, Space space);
  void function(Linkage linkage, bool is_entry);
  void function_directives(Function& function);

  TokenStream tokens_;
  ModuleBuilder builder_;
  DeclarationParser declarations_;
  FunctionParser functions_;
};

void ModuleParser::header() {
  if (!tokens_.at_dotted("version")) return tokens_.fail_expected("'.version'");
  version();
  if (!tokens_.failed() && !tokens_.at_dotted("target")) tokens_.fail_expected("'.target'");
}

void ModuleParser::version() {
  tokens_.advance();
  const std::string text(tokens_.current().text);
  const std::size_t dot = text.find('.');
  if (!tokens_.at(Token::Kind::Float) || dot == std::string::npos || dot == 0 || dot > 3 ||
      text.size() - dot > 4 || text.find_first_not_of("0123456789.") != std::string::npos ||
      dot + 1 == text.size()) {
    return tokens_.fail_expected("a version such as 9.0");
  }
  builder_.module().version_major = static_cast<std::uint32_t>(std::stoul(text.substr(0, dot)));
  builder_.module().version_minor = static_cast<std::uint32_t>(std::stoul(text.substr(dot + 1)));
  tokens_.advance();
}

void ModuleParser::target() {
  tokens_.advance();
  builder_.module().target = std::string(tokens_.expect_word("a target such as sm_90"));
  while (tokens_.accept(','))
    tokens_.expect_word("a target option");
}

// `.file 1 "a.cu", 1700000000, 4096`
void ModuleParser::file() {
  tokens_.advance();
  const std::uint64_t number = tokens_.expect_count("a file number", kMaxFiles);
  const std::string_view name = tokens_.expect_string();
  while (tokens_.accept(','))
    tokens_.expect_count("a number", UINT64_MAX);
  auto& files = builder_.module().files;
  if (files.size() <= number) files.resize(number + 1);
  files[number] = std::string(name);
}

void ModuleParser::item() {
  if (tokens_.accept(';')) return;
  if (!tokens_.at(Token::Kind::Dotted)) return tokens_.fail_expected("a directive");
  const std::string_view word = tokens_.current().text;
  if (word == "version") return version();
  if (word == "target") return target();
  if (word == "file") return file();
  if (word == "pragma") return tokens_.skip_statement();
  if (word == "address_size") {
    tokens_.advance();
    if (tokens_.expect_count("an address size", 64) != 64) tokens_.fail("address size must be 64");
    return;
  }
  if (word == "section") {
    tokens_.advance();
    if (tokens_.at(Token::Kind::Dotted)) tokens_.advance();
    return tokens_.skip_braces();
  }
  if (word == "alias") {
    tokens_.advance();
    const std::string_view name = tokens_.expect_word("a function name");
    tokens_.expect(',');
    const std::string_view aliased = tokens_.expect_word("a function name");
    if (!tokens_.failed()) builder_.add_alias(name, aliased);
    return tokens_.expect(';');
  }
  Linkage linkage = Linkage::Internal;
  if (tokens_.accept_dotted("visible")) {
    linkage = Linkage::Visible;
  } else if (tokens_.accept_dotted("extern")) {
    linkage = Linkage::Extern;
  } else if (tokens_.accept_dotted("weak")) {
    linkage = Linkage::Weak;
  } else if (tokens_.accept_dotted("common")) {
    linkage = Linkage::Common;
  }
  if (tokens_.accept_dotted("entry")) return function(linkage, true);
  if (tokens_.accept_dotted("func")) return function(linkage, false);
  const auto space =
      tokens_.at(Token::Kind::Dotted) ? find_space(tokens_.current().text) : std::nullopt;
  if (!space || *space == Space::Reg || *space == Space::Local || *space == Space::Param) {
    return tokens_.fail_expected("a directive, a function or a variable");
  }
  tokens_.advance();
  variables(linkage, *space);
}

void ModuleParser::variables(Linkage linkage, Space space) {
  const Declarator declarator = declarations_.declarator(space, linkage);
  do {
    std::string_view name;
    Variable variable = declarations_.variable(declarator, name);
    if (tokens_.failed()) return;
    builder_.add_variable(name, std::move(variable));
  } while (tokens_.accept(','));
  tokens_.expect(';');
}

void ModuleParser::function(Linkage linkage, bool is_entry) {
  Function function;
  function.linkage = linkage;
  function.is_entry = is_entry;
  if (tokens_.at_dotted("attribute")) {  // .attribute(.unified(…))
    while (!tokens_.at(')') && !tokens_.at(Token::Kind::End))
      tokens_.advance();
    while (tokens_.accept(')')) {
    }
  }
  if (tokens_.at('(')) function.returns = declarations_.parameters();
  const std::string_view name = tokens_.expect_word("a function name");
  if (tokens_.failed()) return;
  function.name = std::string(name);
  if (tokens_.at('(')) function.parameters = declarations_.parameters();
  function_directives(function);
  if (tokens_.accept(';')) {
    builder_.add_function(name, std::move(function));
    return;
  }
  if (!tokens_.at('{')) return tokens_.fail_expected("';' or '{'");
  function.has_body = true;
  FunctionParser::add_signature_variables(function);
  const std::uint32_t index = builder_.add_function(name, std::move(function));
  if (!tokens_.failed()) functions_.parse(builder_.module().functions[index]);
}

void ModuleParser::function_directives(Function& function) {
  while (tokens_.at(Token::Kind::Dotted)) {
    const std::string_view word = tokens_.current().text;
    if (word == "pragma") {
      tokens_.skip_statement();
      continue;
    }
    tokens_.advance();
    if (word == "noreturn") {
      function.no_return = true;
    } else if (word == "maxntid") {
      function.max_threads = declarations_.extents();
    } else if (word == "reqntid") {
      function.required_threads = declarations_.extents();
    } else if (word == "reqnctapercluster") {
      function.cluster = declarations_.extents();
    } else if (word == "minnctapersm") {
      function.min_blocks_per_sm = declarations_.extents()[0];
    } else if (word == "maxnreg") {
      function.max_registers = declarations_.extents()[0];
    } else {
      // .explicitcluster, .maxclusterrank 8, .abi_preserve 4: nothing that execution needs.
      while (tokens_.at(Token::Kind::Integer) || tokens_.at(','))
        tokens_.advance();
    }
  }
}

}  // namespace

Result<Module> parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return Error(ErrorKind::InvalidInput, "PTX text is too large: " + std::to_string(text.size()));
  }
  // nvcc ends embedded text with a NUL.
  while (!text.empty() && text.back() == '\0')
    text.remove_suffix(1);
  return ModuleParser(text).parse();
}

}  // namespace cuco::ptx
