// SPDX-License-Identifier: Apache-2.0
#include "targets/virtual/virtual_target.h"

#include "shims/wire/call_site.h"
#include "shims/wire/protocol.h"
#include "targets/served_target.h"
#include "targets/virtual/server_process.h"

namespace cuco::targets {
namespace {

class VirtualTarget final : public ServedTarget {
 public:
  VirtualTarget(ServerProcess server, bool is_checked)
      : ServedTarget("virtual cluster", wire::Fd(server.take_control().release())),
        server_(std::move(server)),
        is_checked_(is_checked) {}

  [[nodiscard]] bool is_measured() const override { return false; }

  [[nodiscard]] Result<RankAccess> rank_access() const override {
    CUCO_TRY_ASSIGN(const system::Path libraries, find_library_folder());
    RankAccess access;
    access.libraries = libraries.string();
    access.environment = system::Environment::bare();
    access.environment.set("LD_LIBRARY_PATH", libraries.string())
        .set(wire::kSocketVariable, server_.socket().string());
    if (is_checked_) access.environment.set(wire::kCheckVariable, "1");
    access.read_only = {libraries, server_.socket().parent_path()};
    return access;
  }

  Result<std::vector<check::Finding>> findings() override {
    if (!is_checked_) return std::vector<check::Finding>();
    return ServedTarget::findings();
  }

 private:
  system::Process& server() override { return server_.process(); }

  ServerProcess server_;
  bool is_checked_;
};

}  // namespace

Result<std::unique_ptr<Target>> start_virtual_target(const VirtualSpec& spec) {
  const auto ranks = static_cast<std::uint32_t>(spec.ranks);
  CUCO_TRY_ASSIGN(
      ServerProcess server,
      ServerProcess::start({.gpu = spec.gpu,
                            .topology = spec.topology,
                            .divisor = spec.divisor,
                            .devices = ranks,
                            .processes = ranks,
                            .seed = spec.seed % 2'000'000'000,  // the server takes an int
                            .schedule_seed = spec.schedule_seed,
                            .reports = spec.profile,
                            .timeline = spec.timeline,
                            .blocks = spec.blocks,
                            .check = spec.check,
                            .fenced = true,
                            .memory = spec.memory,
                            .judged = true}));
  return std::unique_ptr<Target>(std::make_unique<VirtualTarget>(std::move(server), spec.check));
}

}  // namespace cuco::targets
