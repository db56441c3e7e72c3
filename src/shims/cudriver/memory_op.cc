// SPDX-License-Identifier: Apache-2.0
// Streams that wait for a value in memory, or write one: kernels of one thread. A thread that waits
// is parked on what it reads, so this costs nothing.
#include <array>
#include <mutex>
#include <string>

#include "shims/cudriver/driver.h"
#include "shims/cudriver/runtime_calls.h"

using namespace cuco::cudriver;  // NOLINT(google-build-using-namespace): the ABI is global

namespace {

// CUstreamWaitValue_flags and what of them is known to be true of the difference or the bits.
struct Condition {
  const char* name;
  const char* body;  ///< From value a in memory and wanted value b to predicate p, T for the width.
};
constexpr std::array kConditions = {
    Condition{"geq", "sub.sT c, a, b; setp.ge.sT p, c, 0;"},
    Condition{"eq", "setp.eq.sT p, a, b;"},
    Condition{"and", "and.bT c, a, b; setp.ne.sT p, c, 0;"},
    Condition{"nor", "or.bT c, a, b; not.bT c, c; setp.ne.sT p, c, 0;"},
};

std::string with_width(std::string text, const char* bits) {
  for (std::size_t at = 0; (at = text.find('T', at)) != std::string::npos;)
    text.replace(at, 1, bits);
  return text;
}

std::string entry(const std::string& name, const char* bits, const std::string& body) {
  return ".visible .entry " + name + "(.param .u64 place, .param .u64 value)\n{" +
         ".reg .pred p; .reg .b64 at;" +
         with_width(" .reg .bT a, b, c; ld.param.bT b, [value];", bits) +
         "ld.param.u64 at, [place];\n" + with_width(body, bits) + " ret;\n}\n";
}

std::string make_code() {
  std::string code = ".version 8.0\n.target sm_70\n.address_size 64\n";
  for (const char* bits : {"32", "64"}) {
    for (const Condition& condition : kConditions) {
      code += entry(
          std::string(condition.name) + bits, bits,
          "again: ld.acquire.sys.bT a, [at]; " + std::string(condition.body) + " @!p bra again;");
    }
    code += entry(std::string("write") + bits, bits, "fence.sc.sys; st.relaxed.sys.bT [at], b;");
  }
  return code;
}

Error launch(const std::string& name,
             StreamHandle stream,
             DevicePointer place,
             std::uint64_t value) {
  if (const Error status = ready(); status != 0) return status;
  static std::mutex mutex;
  static LibraryHandle library = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (library == nullptr) {
      const Error status = cucoLoadCode(&library, make_code().c_str());
      if (status != 0) return result_of(status);
    }
  }
  KernelHandle kernel = nullptr;
  if (const Error status = cudaLibraryGetKernel(&kernel, library, name.c_str()); status != 0)
    return result_of(status);
  void* arguments[] = {&place, &value};
  return result_of(cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream));
}

Error wait_for(const char* bits,
               StreamHandle stream,
               DevicePointer place,
               std::uint64_t value,
               unsigned flags) {
  constexpr unsigned kHow = 3;
  if (place % (bits[0] == '3' ? 4 : 8) != 0) return kInvalidValue;
  return launch(kConditions[flags & kHow].name + std::string(bits), stream, place, value);
}

Error write(const char* bits, StreamHandle stream, DevicePointer place, std::uint64_t value) {
  if (place % (bits[0] == '3' ? 4 : 8) != 0) return kInvalidValue;
  return launch(std::string("write") + bits, stream, place, value);
}

StreamHandle per_thread_if_null(StreamHandle stream) {
  return stream != nullptr ? stream : cuco::cudart::handle_of<StreamHandle>(2);
}

/// CUstreamBatchMemOpParams
struct MemoryOperation {
  int operation;
  DevicePointer place;
  std::uint64_t value;
  unsigned flags;
  std::uint64_t reserved[2];
};

Error perform(const MemoryOperation& one, StreamHandle stream) {
  switch (one.operation) {
    case 1:
      return wait_for("32", stream, one.place, one.value, one.flags);
    case 2:
      return write("32", stream, one.place, one.value);
    case 4:
      return wait_for("64", stream, one.place, one.value, one.flags);
    case 5:
      return write("64", stream, one.place, one.value);
    case 3:  // remote writes are never late
    case 6:  // and the next operation comes after this one
      return 0;
    default:
      return kInvalidValue;
  }
}

}  // namespace

/// Defines the calls for one width with their names.
#define CUCO_MEMORY_OPS(bits, type)                                                              \
  CUCO_DRIVER Error cuStreamWaitValue##bits##_v2(StreamHandle stream, DevicePointer place,       \
                                                 type value, unsigned flags) {                   \
    return wait_for(#bits, stream, place, value, flags);                                         \
  }                                                                                              \
  CUCO_DRIVER Error cuStreamWaitValue##bits##_v2_ptsz(StreamHandle stream, DevicePointer place,  \
                                                      type value, unsigned flags) {              \
    return wait_for(#bits, per_thread_if_null(stream), place, value, flags);                     \
  }                                                                                              \
  CUCO_DRIVER Error cuStreamWriteValue##bits##_v2(StreamHandle stream, DevicePointer place,      \
                                                  type value, unsigned /*flags*/) {              \
    return write(#bits, stream, place, value);                                                   \
  }                                                                                              \
  CUCO_DRIVER Error cuStreamWriteValue##bits##_v2_ptsz(StreamHandle stream, DevicePointer place, \
                                                       type value, unsigned /*flags*/) {         \
    return write(#bits, per_thread_if_null(stream), place, value);                               \
  }                                                                                              \
  CUCO_ALIAS(cuStreamWaitValue##bits, cuStreamWaitValue##bits##_v2);                             \
  CUCO_ALIAS(cuStreamWaitValue##bits##_ptsz, cuStreamWaitValue##bits##_v2_ptsz);                 \
  CUCO_ALIAS(cuStreamWriteValue##bits, cuStreamWriteValue##bits##_v2);                           \
  CUCO_ALIAS(cuStreamWriteValue##bits##_ptsz, cuStreamWriteValue##bits##_v2_ptsz)
CUCO_MEMORY_OPS(32, std::uint32_t);
CUCO_MEMORY_OPS(64, std::uint64_t);

CUCO_DRIVER Error cuStreamBatchMemOp_v2(StreamHandle stream,
                                        unsigned count,
                                        const MemoryOperation* operations,
                                        unsigned /*flags*/) {
  if (operations == nullptr && count > 0) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    if (const Error status = perform(operations[i], stream); status != 0) return status;
  }
  return 0;
}
CUCO_DRIVER Error cuStreamBatchMemOp_v2_ptsz(StreamHandle stream,
                                             unsigned count,
                                             const MemoryOperation* operations,
                                             unsigned flags) {
  return cuStreamBatchMemOp_v2(per_thread_if_null(stream), count, operations, flags);
}
CUCO_ALIAS(cuStreamBatchMemOp, cuStreamBatchMemOp_v2);
CUCO_ALIAS(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp_v2_ptsz);
