// SPDX-License-Identifier: Apache-2.0
#include "judge/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "system/os/files.h"
#include "toolchain/elf.h"

namespace cuco::judge {
namespace {

using testing::HasSubstr;

const std::string kSeed =
    "// cuco: evolve begin a\n"
    "int x;\n"
    "// cuco: evolve end\n"
    "extern \"C\" int cuco_run(void* state) { return run(state); }\n";

std::string with_region(const std::string& body) {
  return "// cuco: evolve begin a\n" + body + "// cuco: evolve end\n" +
         kSeed.substr(kSeed.find("extern"));
}

TEST(Screen, EvolveRegionsMayChange) {
  EXPECT_FALSE(screen_source(kSeed, with_region("double y;\n#define BLOCK 128\n"))->has_value());
}

TEST(Screen, FrozenBytesMayNot) {
  std::string edited = kSeed;
  edited.replace(edited.find("return"), 6, "RETURN");
  const auto rejected = *screen_source(kSeed, edited);
  ASSERT_TRUE(rejected.has_value());
  EXPECT_EQ(rejected->rule, "frozen bytes");
  EXPECT_EQ(rejected->where.line, 4);
}

TEST(Screen, ChangesThatCannotBeSeenAreSaidInWords) {
  std::string edited = kSeed;
  edited.replace(edited.find("}\n"), 2, "}\r\n");
  const auto crlf = *screen_source(kSeed, edited);
  ASSERT_TRUE(crlf.has_value());
  EXPECT_THAT(crlf->reason, HasSubstr("line ends (CRLF)"));
  edited = kSeed;
  edited.replace(edited.find("return"), 6, "\x1b[2J");
  EXPECT_EQ((*screen_source(kSeed, edited))->reason.find('\x1b'), std::string::npos);
}

TEST(Screen, FrozenCodeAsTheCompilerSawIt) {
  const program::FrozenText seed{{"int a ; ", "int b ; "}, ""};
  EXPECT_FALSE(screen_frozen(seed, seed));
  EXPECT_EQ(screen_frozen(seed, {{"int a ; ", "int c ; "}, ""})->rule, "frozen code");
  EXPECT_EQ(screen_frozen(seed, {seed.stretches, "a mark is missing"})->reason,
            "a mark is missing");
}

TEST(Screen, RegionsMayNotDisappear) {
  EXPECT_TRUE(screen_source(kSeed, "int x;\n")->has_value());
}

TEST(Screen, MacrosMayNotTakeNamesFromFrozenCode) {
  for (const char* trick :
       {"#define run(x) 0\n", "#  define  cuco_run other\n", "#undef run\n", "%:define run(x) 0\n",
        "#def\\\nine run(x) 0\n", "# \\ \t\ndefine run(x) 0\n"}) {
    const auto rejected = *screen_source(kSeed, with_region(trick));
    ASSERT_TRUE(rejected.has_value()) << trick;
    EXPECT_EQ(rejected->rule, "macro");
  }
}

TEST(Screen, NothingMayReachOverFrozenCode) {
  for (const char* trick :
       {"#if 0\n", "#ifdef NOTHING\n", "#  ifndef X\n#define Y\n", "%:if 0\n", "#i\\\nf 0\n",
        "#endif\n", "#else\n", "#if 1\n#endif\n#elif 0\n", "int y; /* a comment\n",
        "const char* t = R\"(text\n", "/* // */ /*\n", "char c = '\"'; /*\n"}) {
    const auto rejected = *screen_source(kSeed, with_region(trick));
    ASSERT_TRUE(rejected.has_value()) << trick;
    EXPECT_EQ(rejected->rule, "open region") << trick;
  }
}

TEST(Screen, ConditionsAndTextInsideOfARegionMayStand) {
  for (const char* honest :
       {"#if __CUDA_ARCH__ >= 900\nint y;\n#elif 1\n#else\nint z;\n#endif\n",
        "// #if 0 /* \nint y = 1'000'000; /* #if */ int z;\n",
        "const char* t = \"/* #if\"; const char* u = R\"x(/* ) #endif)x\"; char c = '\\'';\n",
        "#define TEXT(x) #x\n#ifdef TEXT\n#endif\n"}) {
    EXPECT_FALSE(screen_source(kSeed, with_region(honest))->has_value()) << honest;
  }
}

TEST(Elf, ReadsARealLibrary) {
  const std::string bytes = *system::read_file("/proc/self/exe");
  const auto facts = toolchain::read_elf(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_FALSE(facts->undefined.empty());
  EXPECT_GE(facts->init_entries, 1U);
}

TEST(Elf, SurvivesAnyTruncationAndAnyByte) {
  const std::string whole = (*system::read_file("/proc/self/exe"));
  EXPECT_FALSE(toolchain::read_elf({}));
  for (const std::size_t size : {1U, 16U, 63U, 64U, 1000U, 4096U}) {
    EXPECT_FALSE(toolchain::read_elf(std::as_bytes(std::span(whole).first(size)))) << size;
  }
  std::string broken = whole;
  for (std::size_t i = 0; i < 64; ++i) {
    broken[i] = static_cast<char>(~broken[i]);
    static_cast<void>(
        toolchain::read_elf(std::as_bytes(std::span(broken))));  // an answer or an error, no crash
    broken[i] = whole[i];
  }
}

toolchain::ElfFacts honest() {
  toolchain::ElfFacts facts;
  facts.defined = {"cuco_setup", "cuco_run", "cuco_teardown", "_ZN4tileILi4EEvv", "_end"};
  facts.undefined = {"cudaLaunchKernel", "ncclAllGather", "memcpy", "_ZNSt6vectorIfE"};
  facts.init_entries = 2;
  facts.fini_entries = 1;
  facts.init_bytes = 27;
  facts.fini_bytes = 13;
  return facts;
}

/// The rule that refuses what `spoil` makes of an honest object.
template <typename Spoil>
std::string rule_against(const Spoil& spoil) {
  toolchain::ElfFacts facts = honest();
  spoil(facts);
  const auto rejected = screen_object(facts);
  return rejected ? rejected->rule : "";
}

TEST(ScreenObject, HonestObjectsPass) {
  EXPECT_EQ(rule_against([](toolchain::ElfFacts&) {}), "");
}

TEST(ScreenObject, EntryPointsMustBeThere) {
  for (const char* name : {"cuco_setup", "cuco_run", "cuco_teardown"}) {
    EXPECT_EQ(rule_against([&](toolchain::ElfFacts& facts) { facts.defined.erase(name); }),
              "entry points");
  }
}

TEST(ScreenObject, NoNamesOfLibraries) {
  for (const char* name : {"cudaMalloc", "ncclAllGather", "__cudaRegisterFatBinary", "memcpy"}) {
    EXPECT_EQ(rule_against([&](toolchain::ElfFacts& facts) { facts.defined.insert(name); }),
              "defined symbols")
        << name;
  }
}

TEST(ScreenObject, NoImportsBeyondComputation) {
  for (const char* name : {"system", "fork", "dlopen", "syscall", "clock_gettime", "open", "mmap",
                           "pthread_create", "_ZNSt6thread15_M_start_threadE",
                           "_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt13basic_filebufIcE"}) {
    EXPECT_EQ(rule_against([&](toolchain::ElfFacts& facts) { facts.undefined.insert(name); }),
              "imports")
        << name;
  }
}

TEST(ScreenObject, NothingRunsAtLoadTime) {
  const auto refused = [](auto toolchain::ElfFacts::* fact) {
    return rule_against([&](toolchain::ElfFacts& facts) { facts.*fact += 8; }) == "load-time code";
  };
  EXPECT_TRUE(refused(&toolchain::ElfFacts::init_entries));
  EXPECT_TRUE(refused(&toolchain::ElfFacts::fini_entries));
  EXPECT_TRUE(refused(&toolchain::ElfFacts::init_bytes));
  EXPECT_TRUE(refused(&toolchain::ElfFacts::fini_bytes));
  EXPECT_EQ(rule_against([](toolchain::ElfFacts& facts) { facts.has_ifunc = true; }),
            "load-time code");
}

}  // namespace
}  // namespace cuco::judge
