// SPDX-License-Identifier: Apache-2.0
#include "ptx/container/executable.h"

#include <algorithm>
#include <string_view>

#include "ptx/container/elf_file.h"
#include "ptx/container/fatbin.h"

namespace cuco::ptx {
namespace {

/// Nothing but x86-64 is a program here.
Result<ElfFile> open_program(std::span<const std::byte> bytes) {
  auto file = ElfFile::open(bytes);
  if (!file) return Error{ErrorKind::InvalidInput, "not a program: " + file.error().message()};
  if (file->machine() != EM_X86_64)
    return Error{ErrorKind::InvalidInput, "not a program: not for x86-64"};
  return file;
}

/// As many whole entries as the file has of them: a damaged program is still looked through.
template <typename Entry, typename Use>
void for_each_entry(std::span<const std::byte> body, Use use) {
  for (std::size_t at = 0; at + sizeof(Entry) <= body.size(); at += sizeof(Entry))
    if (!use(*load<Entry>(body, at))) return;
}

void read_needed(const ElfFile& file, const Elf64_Shdr& dynamic, Executable& out) {
  const Elf64_Shdr* strings = file.linked(dynamic);
  if (strings == nullptr) return;
  bool has_runpath = false;  // The loader ignores the older DT_RPATH beside it.
  for_each_entry<Elf64_Dyn>(file.contents(dynamic), [&](const Elf64_Dyn& entry) {
    if (entry.d_tag == DT_NULL) return false;
    out.fixes_libraries |= entry.d_tag == DT_RPATH;
    has_runpath |= entry.d_tag == DT_RUNPATH;
    if (entry.d_tag == DT_NEEDED) out.needed.emplace_back(file.text(*strings, entry.d_un.d_val));
    return true;
  });
  out.fixes_libraries &= !has_runpath;
}

/// What the symbol tables say of the three libraries.
struct Definitions {
  bool cuda_runtime = false;
  bool nccl = false;
  bool mpi = false;
};

void read_symbols(const ElfFile& file, const Elf64_Shdr& table, Definitions& out) {
  const Elf64_Shdr* strings = file.linked(table);
  if (strings == nullptr) return;
  for_each_entry<Elf64_Sym>(file.contents(table), [&](const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF) return true;
    const std::string_view name = file.text(*strings, symbol.st_name);
    out.cuda_runtime |= name == "__cudaRegisterFatBinary" || name == "cudaMalloc";
    out.nccl |= name == "ncclCommInitRank" || name == "ncclGetUniqueId";
    out.mpi |= name == "MPI_Init" || name == "PMPI_Init";
    return true;
  });
}

bool has_device_code(std::string_view section_name) {
  return section_name == ".nv_fatbin" || section_name == "__nv_relfatbin";
}

template <typename Use>
void for_each_image(std::span<const std::byte> section, Use use) {
  while (section.size() >= 16) {
    const auto size = fatbin_size(section);
    if (!size) {  // Padding between images.
      section = section.subspan(8);
      continue;
    }
    use(section);
    section = section.subspan(std::min<std::uint64_t>((*size + 7) / 8 * 8, section.size()));
  }
}

void read_device_code(std::span<const std::byte> section, Executable& out) {
  for_each_image(section, [&out](std::span<const std::byte> image) {
    const auto entries = list_fatbin(image);
    if (!entries) return;
    for (const FatbinEntry& entry : *entries) {
      out.has_device_code = true;
      if (entry.kind == FatbinEntry::Kind::Ptx) out.ptx_versions.push_back(entry.sm);
      if (entry.kind == FatbinEntry::Kind::Elf) out.elf_versions.push_back(entry.sm);
    }
  });
}

void sort_and_deduplicate(std::vector<std::uint32_t>& versions) {
  std::sort(versions.begin(), versions.end());
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
}

Linked linked_as(bool dynamically, bool statically) {
  if (dynamically) return Linked::Dynamically;
  return statically ? Linked::Statically : Linked::No;
}

}  // namespace

bool Executable::needs(std::string_view prefix) const {
  return std::any_of(needed.begin(), needed.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

Result<Executable> probe_executable(std::span<const std::byte> bytes) {
  CUCO_TRY_ASSIGN(const ElfFile file, open_program(bytes));
  Executable out;
  Definitions defined;
  bool registers_code = false;
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type == SHT_DYNAMIC) read_needed(file, section, out);
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) {
      read_symbols(file, section, defined);
    }
    const std::string_view name = file.name(section);
    if (has_device_code(name)) read_device_code(file.contents(section), out);
    registers_code |= name == ".nvFatBinSegment";
  }
  sort_and_deduplicate(out.ptx_versions);
  sort_and_deduplicate(out.elf_versions);
  const bool dynamic_runtime = out.needs("libcudart.so");
  // A stripped program has no symbols left, but who registers device code and needs no runtime
  // brings its own; and the static runtime opens the driver by this name.
  const bool hidden_runtime =
      (registers_code && !out.needs("libcuda")) ||
      (!dynamic_runtime && file.contains(std::string_view("libcuda.so.1\0", 13)) &&
       !out.needs("libcuda.so"));
  out.cuda_runtime = linked_as(dynamic_runtime, defined.cuda_runtime || hidden_runtime);
  out.nccl = linked_as(out.needs("libnccl.so"),
                       defined.nccl || file.contains(std::string_view("NCCL_DEBUG_SUBSYS\0", 18)));
  out.mpi = linked_as(out.needs("libmpi"), defined.mpi);
  return out;
}

std::vector<std::string> ptx_texts(std::span<const std::byte> bytes, std::uint32_t sm) {
  std::vector<std::string> texts;
  const auto file = open_program(bytes);
  if (!file) return texts;
  for (const Elf64_Shdr& section : file->sections()) {
    if (!has_device_code(file->name(section))) continue;
    for_each_image(file->contents(section), [&](std::span<const std::byte> image) {
      if (auto text = ptx_of_fatbin(image, sm)) texts.push_back(*std::move(text));
    });
  }
  return texts;
}

bool takes_newer_ptx(const Executable& executable, std::uint32_t sm) {
  const auto& ptx = executable.ptx_versions;
  const auto& elf = executable.elf_versions;
  return !ptx.empty() && ptx.front() > sm &&
         std::any_of(elf.begin(), elf.end(),
                     [&](std::uint32_t code) { return runs_machine_code(sm, code); });
}

std::string reason_not_runnable(const Executable& executable, std::uint32_t sm) {
  if (executable.cuda_runtime == Linked::Statically) {
    return "the CUDA runtime is linked statically; build with: nvcc -cudart shared";
  }
  if (executable.nccl == Linked::Statically) {
    return "NCCL is linked statically; link with -lnccl instead of -lnccl_static";
  }
  if (executable.needs("libcudart.so") && !executable.needs("libcudart.so.13")) {
    return "the CUDA runtime is not that of CUDA 13; build with nvcc 13";
  }
  const auto& versions = executable.ptx_versions;
  const bool usable = std::any_of(versions.begin(), versions.end(),
                                  [&](std::uint32_t version) { return version <= sm; });
  if (executable.has_device_code && !usable && !takes_newer_ptx(executable, sm)) {
    const std::string arch = std::to_string(sm);
    return "there is no PTX for sm_" + arch + " in it; build with: nvcc -gencode arch=compute_" +
           arch + ",code=compute_" + arch;
  }
  return "";
}

}  // namespace cuco::ptx
