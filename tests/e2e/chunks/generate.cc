// SPDX-License-Identifier: Apache-2.0
// Prints a workload, or gather.cu, whose kernels gather what they make, chunk by chunk:
//     generate WORKLOAD|gather.cu lsa|multimem|gin|hybrid KIB MOST each|last|one [graph] [apart]
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "analysis/analyse.h"
#include "cli/journey/traced_program.h"
#include "expert/chunks/chunks.h"
#include "system/os/files.h"

namespace {

using namespace cuco;  // NOLINT(google-build-using-namespace)

/// What runs of gather.cu with other sizes would show.
std::vector<analysis::ObservedMap> maps_of_make() {
  const auto seen = [](std::int64_t factor, std::vector<std::string> parameters = {}) {
    const analysis::ShapeFormula formula{factor, 1, std::move(parameters)};
    return analysis::SeenQuantity{
        .formula = formula, .in_kernel = formula, .last = factor, .shapes = 3};
  };
  analysis::ObservedMap map;
  map.kernel = "make";
  map.parameter = 1;
  map.writes = true;
  map.form = analysis::TileForm::Affine;
  for (const auto quantity : {analysis::Row, analysis::Column, analysis::RowX, analysis::ColumnY})
    map.quantities[quantity] = seen(0);
  for (const auto quantity : {analysis::RowY, analysis::Rows})
    map.quantities[quantity] = seen(8);
  for (const auto quantity : {analysis::ColumnX, analysis::Columns})
    map.quantities[quantity] = seen(16);
  map.quantities[analysis::Pitch] = seen(1, {"n"});
  return {map};
}

Result<std::string> generate(const std::string& program,
                             const expert::chunks::ChunkDesign& design) {
  const bool whole = program.ends_with(".cu");
  CUCO_TRY_ASSIGN(const std::string text,
                  system::read_file(whole ? program : program + "/program.cu"));
  CUCO_TRY_ASSIGN(const system::Path include, system::find_data("include"));
  analysis::AnalysisOptions options;
  options.include_paths.push_back(include);
  CUCO_TRY_ASSIGN(const auto graph, analysis::analyse("program.cu", text, options));
  std::vector<analysis::ObservedMap> maps = maps_of_make();
  if (!whole) {
    CUCO_TRY_ASSIGN(auto seen,
                    cli::observe({.program = program, .progress = [](std::string_view) {}}, graph));
    maps = std::move(seen.maps);
  }
  CUCO_TRY_ASSIGN(auto made, expert::chunks::gather_in_producers(graph, maps, text, design));
  return std::move(made.program);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const std::string name = argv[2];
  const auto backend = name == "lsa"        ? design::Backend::Lsa
                       : name == "multimem" ? design::Backend::Multimem
                       : name == "gin"      ? design::Backend::Gin
                                            : design::Backend::Hybrid;
  const std::string who = argv[5];
  const auto issuer = who == "each"   ? expert::ChunkIssuer::EachBlock
                      : who == "last" ? expert::ChunkIssuer::LastBlock
                                      : expert::ChunkIssuer::OneOfSm;
  const std::set<std::string> more(argv + 6, argv + argc);
  const auto made = generate(
      argv[1], {.backend = backend,
                .knobs = {std::atoi(argv[3]), std::atoi(argv[4]), issuer, !more.contains("apart")},
                .recorded = more.contains("graph")});
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message().c_str());
    return 1;
  }
  std::fputs(made->c_str(), stdout);
  return 0;
}
