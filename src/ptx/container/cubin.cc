// SPDX-License-Identifier: Apache-2.0
// A cubin is an ELF64 file. Its section .nv.info is a list of attributes
//   u8 format, u8 attribute, then by format: 4: u16 bytes and that many; others: u16 value
// of which 0x2F (EIATTR_REGCOUNT) and 0x11 (EIATTR_FRAME_SIZE), format 4, hold u32 symbol and u32
// registers or bytes.
#include "ptx/container/cubin.h"

#include "ptx/container/elf_file.h"
#include "ptx/container/fatbin.h"

namespace cuco::ptx {
namespace {

constexpr std::uint8_t kSized = 4;
constexpr std::uint8_t kRegisterCount = 0x2F;
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint32_t kMaxRegisters = 255;

Error malformed(const std::string& why) {
  return {ErrorKind::InvalidInput, "cubin: " + why};
}

std::string name_of_symbol(const ElfFile& file, const Elf64_Shdr& table, std::uint32_t index) {
  const Elf64_Shdr* strings = file.linked(table);
  const auto symbol = load<Elf64_Sym>(file.contents(table), index * sizeof(Elf64_Sym));
  if (strings == nullptr || !symbol) return {};
  return std::string(file.text(*strings, symbol->st_name));
}

}  // namespace

Result<KernelResources> resources_of_cubin(std::span<const std::byte> cubin) {
  const auto file = ElfFile::open(cubin);
  if (!file) return malformed(file.error().message());
  KernelResources all;
  for (const Elf64_Shdr& section : file->sections()) {
    if (file->name(section) != ".nv.info") continue;
    const Elf64_Shdr* symbols = file->linked(section);
    if (symbols == nullptr) return malformed("attributes without symbols");
    const auto body = file->contents(section);
    for (std::uint64_t at = 0; at < section.sh_size;) {
      const auto format = load<std::uint8_t>(body, at);
      const auto attribute = load<std::uint8_t>(body, at + 1);
      const auto value = load<std::uint16_t>(body, at + 2);
      if (!format || !attribute || !value) return malformed("attributes are cut off");
      if (*format == kSized && (*attribute == kRegisterCount || *attribute == kFrameSize)) {
        const auto symbol = load<std::uint32_t>(body, at + 4);
        const auto number = load<std::uint32_t>(body, at + 8);
        if (!symbol || !number) return malformed("attributes are cut off");
        const std::string name = name_of_symbol(*file, *symbols, *symbol);
        if (!name.empty() && *attribute == kFrameSize) all[name].frame_bytes = *number;
        if (!name.empty() && *attribute == kRegisterCount && *number <= kMaxRegisters)
          all[name].registers = *number;
      }
      at += 4 + (*format == kSized ? *value : 0);
    }
  }
  return all;
}

KernelResources resources_of_fatbin(std::span<const std::byte> image, std::uint32_t sm) {
  const auto entries = list_fatbin(image);
  if (!entries) return {};
  for (const FatbinEntry& entry : *entries) {
    if (entry.kind != FatbinEntry::Kind::Elf || entry.sm != sm) continue;
    const auto bytes = bytes_of(entry);
    if (!bytes) continue;
    if (auto all = resources_of_cubin(std::as_bytes(std::span(*bytes)))) return *all;
  }
  return {};
}

}  // namespace cuco::ptx
