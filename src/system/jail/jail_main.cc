// SPDX-License-Identifier: Apache-2.0
//
// cuco-jail: the keeper of one job. Started by system::Process with a socket as descriptor 3; not
// for people. `cuco-jail --probe` answers which fences work here.
#include <unistd.h>

#include <string_view>

#include <nlohmann/json.hpp>

#include "system/jail/jail_keeper.h"
#include "system/jail/jail_probe.h"
#include "system/jobs/job_codec.h"

namespace {

constexpr int kControlFd = 3;

int answer_probe(const cuco::system::Fd& control) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& report : cuco::system::jail::probe()) {
    list.push_back({static_cast<int>(report.fence), report.works, report.how});
  }
  return cuco::system::send_message(control, list.dump()) ? 0 : 1;
}

int keep_job(const cuco::system::Fd& control) {
  const auto text = cuco::system::receive_message(control);
  if (!text) return 1;
  const auto spec = cuco::system::decode_spec(*text);
  if (!spec) return 1;
  const auto outcome = cuco::system::jail::keep(*spec, control);
  return cuco::system::send_outcome(control, outcome) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Descriptors 4 to 9 are nobody's: those to pass on start at 10.
  ::close_range(4, 9, 0);
  const cuco::system::Fd control(kControlFd);
  if (argc == 2 && std::string_view(argv[1]) == "--probe") return answer_probe(control);
  return keep_job(control);
}
