// SPDX-License-Identifier: Apache-2.0
#include "cli/build_information.h"

#include "cuco_build.h"

namespace cuco::cli {

std::vector<std::pair<std::string, std::string>> build_information() {
  return {{"commit", CUCO_BUILD_COMMIT},     {"date of commit", CUCO_BUILD_DATE},
          {"compiler", CUCO_BUILD_COMPILER}, {"build type", CUCO_BUILD_TYPE},
          {"CUDA", CUCO_BUILD_CUDA},         {"NCCL headers", CUCO_BUILD_NCCL}};
}

}  // namespace cuco::cli
