// SPDX-License-Identifier: Apache-2.0
// Prints a program that runs emitted collectives beside NCCL's: harness.cuh says how.
//
//   test_emit_generate SET FOLDER [BLOCKS BOX_BYTES]
//
// SET is everyday, types, a backend (lsa, gin, multimem, hybrid; lsa_designs: in one type), or one
// of fused_cases.h and one_thread.h. FOLDER gets the program and the headers that it includes.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "expert/emit/emit.h"
#include "expert/emit/fused_gather.h"
#include "fused_cases.h"
#include "one_thread.h"

namespace {
using namespace cuco::expert::emit;  // NOLINT(google-build-using-namespace)
using cuco::design::Backend;

constexpr std::array kCollectives{
    Collective::AllGather, Collective::AllReduce, Collective::ReduceScatter, Collective::Broadcast,
    Collective::Reduce,    Collective::AllToAll,  Collective::Exchange};
constexpr std::array kElements{Element::Float,  Element::Half,  Element::Int32, Element::Bfloat16,
                               Element::Double, Element::Uint8, Element::Int64, Element::Int8,
                               Element::Uint32, Element::Uint64};
constexpr std::array kReductions{Reduction::Sum, Reduction::Max, Reduction::Avg, Reduction::Min,
                                 Reduction::Prod};

/// All that can be emitted for a backend. Types and reductions take turns.
std::vector<Request> all_of(Backend backend) {
  std::vector<Request> requests;
  std::size_t turn = static_cast<std::size_t>(backend);
  for (const auto collective : kCollectives) {
    for (const auto buffers : {Buffers::Staged, Buffers::Windows}) {
      for (const auto shots : {Shots::One, Shots::Two}) {
        for (const bool in_place : {false, true}) {
          if (shots == Shots::Two && collective != Collective::AllReduce) continue;
          if (buffers == Buffers::Staged && in_place) continue;  // the same code: run both ways
          Request request{.collective = collective,
                          .in_place = in_place,
                          .backend = backend,
                          .buffers = buffers,
                          .shots = shots};
          // The switch does not know all types: take the next that can be emitted.
          for (std::size_t i = 0; i < kElements.size() * kReductions.size(); ++i, ++turn) {
            request.element = kElements[turn % kElements.size()];
            request.reduction = kReductions[turn % kReductions.size()];
            if (emit(request)) break;
          }
          ++turn;
          if (emit(request)) requests.push_back(request);
        }
      }
    }
  }
  return requests;
}

/// Each type with each reduction, where load and store or the switch reduces.
std::vector<Request> all_types() {
  std::vector<Request> requests;
  for (const auto element : kElements) {
    for (const auto reduction : kReductions) {
      Request request{
          .collective = Collective::AllReduce, .element = element, .reduction = reduction};
      requests.push_back(request);
      request.backend = Backend::Multimem;
      if (emit(request)) requests.push_back(request);
    }
  }
  return requests;
}

/// All designs of each collective, for one type: what to choose from.
std::vector<Request> designs(Backend backend) {
  std::vector<Request> requests;
  for (auto request : all_of(backend)) {
    if (request.in_place) continue;
    request.element = Element::Float;
    request.reduction = Reduction::Sum;
    requests.push_back(request);
  }
  return requests;
}

/// One of each kind of code, for every day.
std::vector<Request> everyday() {
  using C = Collective;
  return {{.collective = C::AllGather, .backend = Backend::Gin},
          {.collective = C::AllReduce, .element = Element::Half, .shots = Shots::Two},
          {.collective = C::AllReduce, .backend = Backend::Multimem},
          {.collective = C::AllToAll, .buffers = Buffers::Windows},
          {.collective = C::Exchange, .element = Element::Bfloat16}};
}

std::string name_of(const Request& request) {
  std::string result(name(request.collective));
  if (request.collective == Collective::AllReduce)
    result += fmt::format(" {}", name(request.shots));
  if (reduces(request.collective)) result += fmt::format(" {}", name(request.reduction));
  result += fmt::format(" {} {} {}", name(request.element), cuco::design::name(request.backend),
                        name(request.buffers));
  return request.in_place ? result + " in-place" : result;
}

std::string with(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

const char* kind(Collective collective) {
  constexpr std::array<const char*, 7> kNames{
      "AllGather", "AllReduce", "ReduceScatter", "Broadcast", "Reduce", "AllToAll", "Exchange"};
  return kNames[static_cast<std::size_t>(collective)];
}

/// How the case gets the buffers `send` and `recv`; in place they are one.
std::string allocation(const Request& request, const Emitted& emitted) {
  std::string body;
  std::string release;
  for (const std::string which : {"send", "recv"}) {
    const SharedBuffer* shared = nullptr;
    for (const auto& buffer : emitted.buffers) {
      if (buffer.pointer == which) shared = &buffer;
    }
    const bool other_is_shared =
        request.in_place && emitted.buffers.size() == 1 && shared == nullptr;
    if (other_is_shared) continue;
    const auto line = shared != nullptr ? with(shared->allocate, "{bytes}", "bytes")
                                        : fmt::format("cudaMalloc(&{}, bytes)", which);
    body += fmt::format("    OK({});\n", line);
    release += fmt::format(
        "    OK({});\n", shared != nullptr ? shared->release : fmt::format("cudaFree({})", which));
  }
  if (request.in_place && emitted.buffers.size() == 1) {
    body += emitted.buffers[0].pointer == "send" ? "    recv = send;\n" : "    send = recv;\n";
  }
  return fmt::format(
      "  ncclResult_t allocate(ncclComm_t comm, T*& send, T*& recv, size_t bytes) {{\n{}"
      "    return ncclSuccess;\n  }}\n"
      "  ncclResult_t release(ncclComm_t comm, T* send, T* recv) {{\n{}"
      "    return ncclSuccess;\n  }}\n",
      body, release);
}

std::string case_text(const Request& request, const Emitted& emitted, int number) {
  std::string members = "  " + emitted.member + "\n";
  for (const auto& buffer : emitted.buffers)
    members += "  " + buffer.member + "\n";
  std::string group;
  if (request.collective == Collective::Exchange) {
    members += "  " + emitted.group.member + "\n";
    const auto call = [](const std::string& text) {
      return with(with(with(text, "{data}", "data"), "{count}", "count"), "{peer}", "peer");
    };
    group = fmt::format(
        "  ncclResult_t send(const T* data, size_t count, int peer) {{ return {}; }}\n"
        "  ncclResult_t receive(T* data, size_t count, int peer) {{ return {}; }}\n",
        call(emitted.group.send), call(emitted.group.receive));
  }
  const bool also = request.buffers == Buffers::Staged &&
                    request.collective != Collective::AllToAll &&
                    request.collective != Collective::Exchange;  // NCCL's own cannot be in place
  return fmt::format(
      "{code}\nstruct Case{number} {{\n  using T = {type};\n"
      "  static constexpr const char* kName = \"{name}\";\n"
      "  static constexpr Kind kKind = Kind::{kind};\n"
      "  static constexpr ncclRedOp_t kOp = nccl{reduction};\n"
      "  static constexpr bool kInPlace = {in_place}, kAlsoInPlace = {also};\n{members}"
      "  ncclResult_t open(ncclComm_t comm) {{ return {setup}; }}\n{allocation}{group}"
      "  ncclResult_t call(const T* send, T* recv, size_t count, int root, cudaStream_t stream) "
      "{{\n"
      "    return {call};\n  }}\n"
      "  ncclResult_t close() {{ return {teardown}; }}\n}};\n\n",
      fmt::arg("code", emitted.code), fmt::arg("number", number),
      fmt::arg("type", cuda_type(request.element)), fmt::arg("name", name_of(request)),
      fmt::arg("kind", kind(request.collective)), fmt::arg("reduction", name(request.reduction)),
      fmt::arg("in_place", request.in_place), fmt::arg("also", also), fmt::arg("members", members),
      fmt::arg("setup", emitted.setup), fmt::arg("allocation", allocation(request, emitted)),
      fmt::arg("group", group), fmt::arg("call", emitted.call),
      fmt::arg("teardown", emitted.teardown));
}

std::vector<Request> requests_of(const std::string& set) {
  if (set == "everyday") return everyday();
  if (set == "types") return all_types();
  if (set == "lsa_designs") return designs(Backend::Lsa);
  if (set == "gin_designs") return designs(Backend::Gin);
  if (set == "multimem_designs") return designs(Backend::Multimem);
  if (set == "hybrid_designs") return designs(Backend::Hybrid);
  if (set == "lsa") return all_of(Backend::Lsa);
  if (set == "gin") return all_of(Backend::Gin);
  if (set == "multimem") return all_of(Backend::Multimem);
  if (set == "hybrid") return all_of(Backend::Hybrid);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string set = argv[1], folder = argv[2];
  std::ofstream(folder + "/" + std::string(kDeviceHeaderName)) << device_header();
  std::ofstream(folder + "/" + std::string(kChunksHeaderName)) << chunks_header();
  if (set == "one_thread") {
    std::ofstream(folder + "/" + set + ".cu") << cuco::test::one_thread_program();
    return 0;
  }
  if (set.starts_with("fused")) {
    std::ofstream(folder + "/" + set + ".cu") << cuco::test::fused_program(set);
    return 0;
  }
  auto requests = requests_of(set);
  std::string text =
      fmt::format("#include \"{}\"\n\n#include \"harness.cuh\"\n\n", kDeviceHeaderName);
  std::string list;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& request = requests[i];
    request.name = fmt::format("collective_{}", i);
    // Few and small, so that a small call needs several rounds of several blocks.
    request.blocks = argc > 3 ? std::atoi(argv[3]) : 3;
    request.box_bytes = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 512;
    request.threads = argc > 3 ? 512 : 64;
    request.expressions = {"send", "recv", "count", "root", "stream", "comm", "site"};
    const auto emitted = emit(request);
    if (!emitted) {
      std::cerr << name_of(request) << ": " << emitted.error().message() << "\n";
      return 1;
    }
    text += case_text(request, *emitted, static_cast<int>(i));
    list += fmt::format("{}Case{}", i == 0 ? "" : ", ", i);
  }
  text += fmt::format(
      "int main(int argc, char** argv) {{ return run_all<Collectives, {}>(argc, argv); }}\n", list);
  std::ofstream(folder + "/" + set + ".cu") << text;
  return requests.empty() ? 2 : 0;
}
