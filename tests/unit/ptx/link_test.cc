// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/parse/parse.h"

namespace cuco::ptx {
namespace {

Module parse_module(const std::string& items) {
  Result<Module> module = parse(".version 9.0\n.target sm_90\n.address_size 64\n" + items);
  EXPECT_TRUE(module) << module.error().message();
  return module ? *std::move(module) : Module{};
}

template <typename... Texts>
Result<Module> link_texts(const Texts&... texts) {
  std::vector<Module> modules;
  (modules.push_back(parse_module(texts)), ...);
  return link(std::move(modules));
}

const Symbol& target_of(const Module& module, const Function& function, std::size_t call) {
  return module.symbols[function.calls[call].target.index];
}

TEST(Link, ExternMeetsVisible) {
  const auto module = link_texts(
      ".extern .func f; .extern .global .u32 x;\n"
      ".visible .entry k() { .reg .b64 %rd; mov.u64 %rd, x; call f; ret; }",
      ".visible .global .u32 x = 7; .visible .func f { ret; }");
  ASSERT_TRUE(module) << module.error().message();
  const Function* k = module->find_function("k");
  const Symbol& f = target_of(*module, *k, 0);
  EXPECT_TRUE(module->functions[f.index].has_body);
  const Symbol& x = module->symbols[k->instructions[0].operands[1].index];
  EXPECT_EQ(module->variables[x.index].init.size(), 4U);
  EXPECT_EQ(module->functions.size(), 2U);
  EXPECT_EQ(module->variables.size(), 1U);
}

TEST(Link, InternalNamesStayApart) {
  const std::string text = ".global .u32 x = 1; .func f { ret; }\n";
  const auto module =
      link_texts(text + ".visible .entry a() { .reg .b64 %r; mov.b64 %r, x; call f; }",
                 text + ".visible .entry b() { .reg .b64 %r; mov.b64 %r, x; call f; }");
  ASSERT_TRUE(module) << module.error().message();
  EXPECT_EQ(module->functions.size(), 4U);
  const Function* a = module->find_function("a");
  const Function* b = module->find_function("b");
  EXPECT_NE(target_of(*module, *a, 0).index, target_of(*module, *b, 0).index);
  EXPECT_NE(a->instructions[0].operands[1].index, b->instructions[0].operands[1].index);
}

TEST(Link, WeakDefinitionsMergeAndYieldToStrongOnes) {
  const auto module = link_texts(".weak .func f { ret; } .visible .entry a() { call f; }",
                                 ".weak .func f { ret; ret; } .visible .entry b() { call f; }",
                                 ".visible .func f { ret; ret; ret; }");
  ASSERT_TRUE(module) << module.error().message();
  EXPECT_EQ(module->functions.size(), 3U);
  EXPECT_EQ(module->find_function("f")->instructions.size(), 3U);
  for (const char* entry : {"a", "b"}) {
    EXPECT_EQ(target_of(*module, *module->find_function(entry), 0).name, "f");
  }
}

TEST(Link, TheLargestCommonBlockWins) {
  const auto module = link_texts(".common .global .b8 x[4];", ".common .global .b8 x[16];",
                                 ".common .global .b8 x[8];");
  ASSERT_TRUE(module) << module.error().message();
  ASSERT_EQ(module->variables.size(), 1U);
  EXPECT_EQ(module->variables[0].bytes, 16U);
}

TEST(Link, UndefinedFunctionsStayDeclarations) {
  const auto module = link_texts(".extern .func vprintf; .visible .entry k() { call vprintf; }");
  ASSERT_TRUE(module) << module.error().message();
  EXPECT_FALSE(module->find_function("vprintf")->has_body);
}

TEST(Link, DynamicSharedMemoryIsNobodysDefinition) {
  const auto module =
      link_texts(".extern .shared .align 4 .b8 d[];", ".extern .shared .align 16 .b8 d[];");
  ASSERT_TRUE(module) << module.error().message();
  ASSERT_EQ(module->variables.size(), 1U);
  EXPECT_EQ(module->variables[0].align, 16U);
}

TEST(Link, RewritesRelocationsAndFiles) {
  const auto module = link_texts(".visible .func f { .loc 1 5 1 ret; }\n.file 1 \"a.cu\"",
                                 ".extern .func f; .visible .global .u64 t[2] = {0, f};\n"
                                 ".visible .func g { .loc 1 9 1 ret; }\n.file 1 \"b.cu\"");
  ASSERT_TRUE(module) << module.error().message();
  const Variable* table = module->find_variable("t");
  EXPECT_EQ(module->symbols[table->relocations[0].symbol].name, "f");
  const SourceLine line = module->find_function("g")->instructions[0].source;
  EXPECT_EQ(module->files[line.file], "b.cu");
}

TEST(Link, KeepsAliases) {
  const auto module = link_texts(".visible .func g; .visible .func f { ret; } .alias g, f;",
                                 ".extern .func g; .visible .entry k() { call g; }");
  ASSERT_TRUE(module) << module.error().message();
  EXPECT_EQ(module->find_function("g"), module->find_function("f"));
}

TEST(LinkError, NamesTheSymbol) {
  EXPECT_EQ(link_texts(".visible .func f { ret; }", ".visible .func f { ret; }").error().message(),
            "link: 'f' is defined in two modules");
  EXPECT_EQ(link_texts(".extern .global .u32 x;").error().message(),
            "link: variable is not defined in any module: x");
  EXPECT_EQ(link_texts(".extern .global .u32 x;", ".visible .func x { ret; }").error().message(),
            "link: 'x' is a function in one module and a variable in another");
  EXPECT_EQ(link_texts(".extern .global .u32 x;", ".visible .const .u32 x;").error().message(),
            "link: 'x' is in different state spaces");
}

}  // namespace
}  // namespace cuco::ptx
