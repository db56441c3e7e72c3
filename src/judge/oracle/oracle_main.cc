// SPDX-License-Identifier: Apache-2.0
//
// cuco-oracle ORACLE.so: the trusted process that makes inputs and checks outputs. It loads the
// workload's oracle, never a candidate; it sees outputs only as bytes.
#include <cstdio>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cuco/oracle.h"
#include "judge/oracle/compare.h"
#include "judge/oracle/oracle_protocol.h"
#include "system/jobs/job_codec.h"

namespace cuco::judge {
namespace {

struct Oracle {
  decltype(&cuco_oracle_input) input = nullptr;
  decltype(&cuco_oracle_reference) reference = nullptr;
};

class Service {
 public:
  explicit Service(Oracle oracle) : oracle_(oracle) {}

  Result<void> serve(const system::Fd& socket) {
    while (true) {
      auto text = system::receive_message(socket);
      if (!text) return {};  // the judge is done
      CUCO_TRY_ASSIGN(const Json request, parse_json(*text));
      const std::string op = request.at("op").get<std::string>();
      if (op == "input") {
        CUCO_TRY(system::send_message(socket, make_input(request)));
      } else if (op == "answer") {
        CUCO_TRY(system::send_message(socket, answer(request)));
      } else {
        CUCO_TRY_ASSIGN(const std::string output, system::receive_message(socket));
        CUCO_TRY(system::send_message(socket, check(request, output)));
      }
    }
  }

 private:
  static std::uint64_t number(const Json& text) { return std::stoull(text.get<std::string>()); }

  const std::string& make_input(const Json& request) {
    const auto params = request.at("params").get<std::vector<long long>>();
    const cuco_shape shape{request.at("ranks").get<int>(), params.data(),
                           static_cast<int>(params.size())};
    const int rank = request.at("rank").get<int>();
    const int input = request.at("input").get<int>();
    std::string& bytes = inputs_[{rank, input}];
    bytes.assign(request.at("bytes").get<std::size_t>(), '\0');
    oracle_.input(&shape, number(request.at("key")), rank, input, bytes.data(), bytes.size());
    return bytes;
  }

  /// The reference for one rank's output, as the request names it.
  Reference reference_for(const Json& request,
                          std::vector<long long>& params,
                          std::vector<const void*>& inputs) {
    params = request.at("params").get<std::vector<long long>>();
    const int ranks = request.at("ranks").get<int>();
    const int n_inputs = request.at("inputs").get<int>();
    for (int rank = 0; rank < ranks; ++rank) {
      for (int input = 0; input < n_inputs; ++input) {
        const std::string& bytes = inputs_[{rank, input}];
        if (!request.contains("coarse")) {
          inputs.push_back(bytes.data());
          continue;
        }
        // As a program would have them that computes in the next lower precision.
        coarse_.push_back(
            coarsened(bytes, request.at("coarse").at(static_cast<std::size_t>(input))));
        inputs.push_back(coarse_.back().data());
      }
    }
    const cuco_shape shape{ranks, params.data(), static_cast<int>(params.size())};
    return [this, shape, &inputs, n_inputs, rank = request.at("rank").get<int>(),
            output = request.at("output").get<int>()](std::size_t first, std::span<double> want,
                                                      std::span<double> scale) {
      oracle_.reference(&shape, inputs.data(), n_inputs, rank, output, first, want.size(),
                        want.data(), scale.data());
    };
  }

  static std::string coarsened(std::string bytes, const std::string& type_name) {
    const auto type = workload::parse_element(type_name);
    if (!type || *type == workload::Element::Int32) return bytes;
    const std::string fine = bytes;
    for (std::size_t i = 0; i < fine.size() / workload::bytes_of(*type); ++i) {
      const double value = load_element(std::as_bytes(std::span(fine)), i, *type);
      store_element(std::as_writable_bytes(std::span(bytes)), i, *type,
                    one_precision_lower(value, *type));
    }
    return bytes;
  }

  static workload::Element type_of(const Json& request) {
    return request.at("type") == "fp32" ? workload::Element::Fp32 : workload::Element::Bf16;
  }

  std::string check(const Json& request, const std::string& output) {
    std::vector<long long> params;
    std::vector<const void*> inputs;
    const Reference reference = reference_for(request, params, inputs);
    const workload::Tolerance tolerance{request.at("relative").get<double>(),
                                        request.at("scaled").get<double>()};
    const Comparison result =
        compare(std::as_bytes(std::span(output)), type_of(request), tolerance, reference,
                number(request.at("seed")), request.at("limit").get<std::size_t>());
    // Numbers as text: JSON has no NaN, and a wrong element often is one.
    return to_text(Json{{"checked", result.checked},
                        {"wrong", result.wrong},
                        {"index", result.index},
                        {"got", fmt::format("{}", result.got)},
                        {"want", fmt::format("{}", result.want)},
                        {"scale", fmt::format("{}", result.scale)}});
  }

  std::string answer(const Json& request) {
    std::vector<long long> params;
    std::vector<const void*> inputs;
    const Reference reference = reference_for(request, params, inputs);
    const auto count = request.at("elements").get<std::size_t>();
    std::vector<double> want(count);
    std::vector<double> scale(count);
    reference(0, want, scale);
    coarse_.clear();
    std::string bytes(count * workload::bytes_of(type_of(request)), '\0');
    for (std::size_t i = 0; i < count; ++i) {
      store_element(std::as_writable_bytes(std::span(bytes)), i, type_of(request), want[i]);
    }
    return bytes;
  }

  Oracle oracle_;
  std::map<std::pair<int, int>, std::string> inputs_;  ///< By rank and input, of this iteration.
  std::list<std::string> coarse_;                      ///< The same, one precision lower.
};

int run(const char* path) {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "cuco-oracle: %s\n", ::dlerror());  // NOLINT(concurrency-mt-unsafe)
    return 1;
  }
  Oracle oracle;
  oracle.input = reinterpret_cast<decltype(oracle.input)>(::dlsym(library, "cuco_oracle_input"));
  oracle.reference =
      reinterpret_cast<decltype(oracle.reference)>(::dlsym(library, "cuco_oracle_reference"));
  if (oracle.input == nullptr || oracle.reference == nullptr) {
    std::fprintf(stderr, "oracle.cpp must define %s (see cuco/oracle.h)\n",
                 oracle.input == nullptr ? "cuco_oracle_input" : "cuco_oracle_reference");
    return 1;
  }
  const system::Fd socket(kOracleFd);
  const auto served = Service(oracle).serve(socket);
  if (!served) std::fprintf(stderr, "cuco-oracle: %s\n", served.error().message().c_str());
  return served ? 0 : 1;
}

}  // namespace
}  // namespace cuco::judge

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    return cuco::judge::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuco-oracle: %s\n", error.what());
    return 1;
  }
}
