// SPDX-License-Identifier: Apache-2.0
#include "toolchain/machine_code.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"
#include "ptx/container/elf_file.h"
#include "toolchain/device_ptx.h"

namespace cuco::toolchain {
namespace {

using ptx::ElfFile;
using system::Path;

/// The device's half lies there, with its line tables.
constexpr std::string_view kDeviceSection = ".nv_fatbin";

bool is_loaded(const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_ALLOC) != 0;
}

/// The host's half of a relocatable object as a text.
class HostText {
 public:
  explicit HostText(const ElfFile& file) : file_(file) {}

  /// False: the file is damaged.
  bool read() {
    for (const Elf64_Shdr& section : file_.sections()) {
      if (section.sh_type == SHT_REL) return false;  // not on this processor
      if (is_loaded(section)) {
        add_contents(section);
      } else if (section.sh_type == SHT_RELA) {
        if (!add_relocations(section)) return false;
      } else if (section.sh_type == SHT_SYMTAB) {
        if (!add_symbols(section)) return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add_contents(const Elf64_Shdr& section) {
    const bool device = file_.name(section) == kDeviceSection;
    text_ += fmt::format("section {} {} {} {}\n", file_.name(section), section.sh_type,
                         section.sh_flags, device ? 0 : section.sh_size);
    if (device) return;
    const auto body = file_.contents(section);
    text_.append(reinterpret_cast<const char*>(body.data()), body.size());
  }

  /// A symbol by its name and its place: names may be alike once module numbers are gone.
  [[nodiscard]] std::optional<std::string> symbol(const Elf64_Shdr& table, std::size_t at) const {
    const Elf64_Shdr* names = file_.linked(table);
    const auto entry = ptx::load<Elf64_Sym>(file_.contents(table), at * sizeof(Elf64_Sym));
    if (names == nullptr || !entry) return std::nullopt;
    const auto& sections = file_.sections();
    const bool placed = entry->st_shndx != SHN_UNDEF && entry->st_shndx < sections.size();
    return fmt::format(
        "{} {}+{} {} {}", file_.text(*names, entry->st_name),
        placed ? file_.name(sections[entry->st_shndx]) : std::to_string(entry->st_shndx),
        entry->st_value, entry->st_info, entry->st_other);
  }

  bool add_relocations(const Elf64_Shdr& table) {
    const auto& sections = file_.sections();
    if (table.sh_info >= sections.size()) return false;
    if (!is_loaded(sections[table.sh_info])) return true;
    const Elf64_Shdr* symbols = file_.linked(table);
    const auto entries = file_.entries<Elf64_Rela>(table);
    if (symbols == nullptr || !entries) return false;
    for (const Elf64_Rela& entry : *entries) {
      const auto target = symbol(*symbols, ELF64_R_SYM(entry.r_info));
      if (!target) return false;
      text_ += fmt::format("refers {} {} {} {}\n", entry.r_offset, ELF64_R_TYPE(entry.r_info),
                           entry.r_addend, *target);
    }
    return true;
  }

  /// What others may call.
  bool add_symbols(const Elf64_Shdr& table) {
    const auto entries = file_.entries<Elf64_Sym>(table);
    if (!entries) return false;
    for (std::size_t i = 1; i < entries->size(); ++i) {
      if (ELF64_ST_BIND((*entries)[i].st_info) == STB_LOCAL) continue;
      const auto text = symbol(table, i);
      if (!text) return false;
      text_ += "symbol " + *text + "\n";
    }
    return true;
  }

  const ElfFile& file_;
  std::string text_;
};

Path place_of(const Path& object) {
  return object.string() + ".machine";
}

}  // namespace

std::optional<MachineCode> machine_code(std::string_view ptx, std::span<const std::byte> object) {
  const auto file = ElfFile::open(object);
  if (!file) return std::nullopt;
  HostText host(*file);
  if (!host.read()) return std::nullopt;
  return MachineCode{to_hex(sha256(canonical_ptx(ptx))),
                     to_hex(sha256(without_module_number(host.take())))};
}

Result<void> keep_machine_code(const Path& object, const MachineCode& code) {
  return system::write_file(place_of(object),
                            to_text(Json{{"device", code.device}, {"host", code.host}}));
}

std::optional<MachineCode> machine_code_of(const Path& object) {
  const auto text = system::read_file(place_of(object));
  if (!text) return std::nullopt;
  const auto json = parse_json(*text);
  if (!json) return std::nullopt;
  auto device = string_member(*json, "device");
  auto host = string_member(*json, "host");
  if (!device || !host) return std::nullopt;
  return MachineCode{*std::move(device), *std::move(host)};
}

}  // namespace cuco::toolchain
