// SPDX-License-Identifier: Apache-2.0
#include "ptx/container/executable.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace cuco::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string fatbin(const std::string& name) {
  return read(std::filesystem::path(CUCO_SOURCE_DIR) / "tests/data/fatbin" / name);
}

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Writes ELF files with just the sections that the probe reads.
class ElfWriter {
 public:
  ElfWriter() { add("", SHT_NULL, "", 0); }

  std::uint32_t add(const std::string& name,
                    std::uint32_t type,
                    const std::string& contents,
                    std::uint32_t link = 0) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<std::uint32_t>(names_.size());
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + body_.size();
    section.sh_size = contents.size();
    section.sh_link = link;
    names_ += name + '\0';
    body_ += contents;
    sections_.push_back(section);
    return static_cast<std::uint32_t>(sections_.size() - 1);
  }

  void add_needed(const std::vector<std::string>& libraries,
                  const std::vector<Elf64_Sxword>& more_tags = {}) {
    std::string strings(1, '\0');
    std::string dynamic;
    for (const std::string& library : libraries) {
      Elf64_Dyn entry{};
      entry.d_tag = DT_NEEDED;
      entry.d_un.d_val = strings.size();
      dynamic += bytes_of(entry);
      strings += library + '\0';
    }
    for (const Elf64_Sxword tag : more_tags)
      dynamic += bytes_of(Elf64_Dyn{.d_tag = tag, .d_un = {}});
    add(".dynamic", SHT_DYNAMIC, dynamic + bytes_of(Elf64_Dyn{}),
        add(".dynstr", SHT_STRTAB, strings));
  }

  void add_defined(const std::string& name) {
    Elf64_Sym symbol{};
    symbol.st_name = 1;
    symbol.st_shndx = 1;
    add(".symtab", SHT_SYMTAB, bytes_of(symbol), add(".strtab", SHT_STRTAB, '\0' + name + '\0'));
  }

  [[nodiscard]] std::string finish() {
    const std::uint32_t names = add(".shstrtab", SHT_STRTAB, names_ + ".shstrtab" + '\0');
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = EM_X86_64;
    header.e_shoff = sizeof header + body_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(sections_.size());
    header.e_shstrndx = static_cast<std::uint16_t>(names);
    std::string file = bytes_of(header) + body_;
    for (const Elf64_Shdr& section : sections_)
      file += bytes_of(section);
    return file;
  }

 private:
  std::string body_;
  std::string names_;
  std::vector<Elf64_Shdr> sections_;
};

Result<Executable> probe(const std::string& file) {
  return probe_executable(std::as_bytes(std::span(file)));
}

TEST(Executable, SharedRuntimeWithPtxRuns) {
  ElfWriter writer;
  writer.add_needed({"libmpi.so.40", "libnccl.so.2", "libcudart.so.13", "libc.so.6"});
  writer.add(".nvFatBinSegment", SHT_PROGBITS, std::string(24, '\0'));
  writer.add(".nv_fatbin", SHT_PROGBITS,
             fatbin("zstd.fatbin") + std::string(8, '\0') + fatbin("elf.fatbin"));
  const auto program = probe(writer.finish());
  ASSERT_TRUE(program);
  EXPECT_EQ(program->cuda_runtime, Linked::Dynamically);
  EXPECT_EQ(program->nccl, Linked::Dynamically);
  EXPECT_EQ(program->mpi, Linked::Dynamically);
  EXPECT_THAT(program->ptx_versions, ElementsAre(80U, 90U));
  EXPECT_THAT(program->elf_versions, ElementsAre(90U));
  EXPECT_THAT(reason_not_runnable(*program, 90), IsEmpty());
  EXPECT_THAT(reason_not_runnable(*program, 75), HasSubstr("arch=compute_75,code=compute_75"));
}

TEST(Executable, OnlyTheOlderSearchPathComesBeforeTheEnvironment) {
  const auto fixes = [](const std::vector<Elf64_Sxword>& tags) {
    ElfWriter writer;
    writer.add_needed({"libcudart.so.13"}, tags);
    const auto program = probe(writer.finish());
    return program && program->fixes_libraries;
  };
  EXPECT_FALSE(fixes({}));
  EXPECT_TRUE(fixes({DT_RPATH}));
  EXPECT_FALSE(fixes({DT_RUNPATH}));
  EXPECT_FALSE(fixes({DT_RPATH, DT_RUNPATH}));
}

TEST(Executable, StaticRuntimeIsRefusedWithTheFlagToUse) {
  ElfWriter writer;
  writer.add_needed({"libc.so.6"});
  writer.add_defined("__cudaRegisterFatBinary");
  const auto program = probe(writer.finish());
  ASSERT_TRUE(program);
  EXPECT_EQ(program->cuda_runtime, Linked::Statically);
  EXPECT_EQ(reason_not_runnable(*program, 90),
            "the CUDA runtime is linked statically; build with: nvcc -cudart shared");
}

TEST(Executable, StaticRuntimeIsSeenInAStrippedProgram) {
  ElfWriter writer;
  writer.add_needed({"libc.so.6"});
  writer.add(".nvFatBinSegment", SHT_PROGBITS, std::string(24, '\0'));
  EXPECT_EQ(probe(writer.finish())->cuda_runtime, Linked::Statically);
  ElfWriter without_kernels;
  without_kernels.add_needed({"libc.so.6"});
  without_kernels.add(".rodata", SHT_PROGBITS, std::string("libcuda.so.1\0", 13));
  EXPECT_EQ(probe(without_kernels.finish())->cuda_runtime, Linked::Statically);
}

TEST(Executable, StaticNcclIsRefused) {
  ElfWriter writer;
  writer.add_needed({"libcudart.so.13"});
  writer.add_defined("ncclCommInitRank");
  const auto program = probe(writer.finish());
  EXPECT_EQ(program->nccl, Linked::Statically);
  EXPECT_THAT(reason_not_runnable(*program, 90), HasSubstr("-lnccl"));
}

TEST(Executable, MachineCodeAloneIsRefused) {
  ElfWriter writer;
  writer.add_needed({"libcudart.so.13"});
  writer.add(".nv_fatbin", SHT_PROGBITS, fatbin("elf.fatbin"));
  EXPECT_THAT(reason_not_runnable(*probe(writer.finish()), 90), HasSubstr("there is no PTX"));
}

TEST(Executable, NewerPtxIsTakenBesideMachineCodeForTheGpu) {
  Executable program;
  program.needed = {"libcudart.so.13"};
  program.cuda_runtime = Linked::Dynamically;
  program.has_device_code = true;
  program.ptx_versions = {120};
  program.elf_versions = {75, 80, 90, 100, 120};
  for (const std::uint32_t sm : {80U, 86U, 90U}) {
    EXPECT_TRUE(takes_newer_ptx(program, sm)) << sm;
    EXPECT_THAT(reason_not_runnable(program, sm), IsEmpty()) << sm;
  }
  EXPECT_FALSE(takes_newer_ptx(program, 120));
  program.elf_versions = {100, 120};
  EXPECT_FALSE(takes_newer_ptx(program, 90));
  EXPECT_THAT(reason_not_runnable(program, 90), HasSubstr("there is no PTX for sm_90"));
}

TEST(Executable, OtherRuntimesAreRefused) {
  ElfWriter writer;
  writer.add_needed({"libcudart.so.12"});
  EXPECT_THAT(reason_not_runnable(*probe(writer.finish()), 90), HasSubstr("CUDA 13"));
}

TEST(Executable, AProgramWithoutCudaRuns) {
  const auto program = probe(read("/proc/self/exe"));
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->needs("libc.so"));
}

TEST(Executable, TextIsNotAProgram) {
  EXPECT_EQ(probe("#!/bin/sh\n").error().message(), "not a program: no ELF");
}

TEST(Executable, DamageIsAnErrorNotACrash) {
  ElfWriter writer;
  writer.add_needed({"libcudart.so.13"});
  writer.add_defined("cudaMalloc");
  writer.add(".nv_fatbin", SHT_PROGBITS, fatbin("lz4.fatbin"));
  const std::string good = writer.finish();
  Rng rng(11);
  for (int i = 0; i < 1000; ++i) {
    std::string bad = good;
    const std::size_t region = rng.below(2) == 0 ? 64 : bad.size();
    for (int n = 0; n < 3; ++n) {
      const std::size_t at = rng.below(region);
      bad[rng.below(2) == 0 ? at : bad.size() - 1 - at] = static_cast<char>(rng.next());
    }
    if (rng.below(4) == 0) bad.resize(rng.below(bad.size()));
    (void)probe(bad);
  }
}

}  // namespace
}  // namespace cuco::ptx
