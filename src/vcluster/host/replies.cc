// SPDX-License-Identifier: Apache-2.0
#include "vcluster/host/replies.h"

#include <utility>
#include <vector>

#include "shims/wire/status.h"

namespace cuco::vcluster {

void reply_status(Session& session, const Context* context, std::int32_t status) {
  if (context != nullptr && context->error != 0) status = context->error | wire::kStickyFlag;
  if (!session.process->output.empty()) status |= wire::kOutputFlag;
  session.reply(status);
}

void Replies::when_done(Session& session,
                        std::span<const WorkPtr> works,
                        const Context* context,
                        std::string what) const {
  session.park(CallWait{std::move(what)});
  std::vector<WorkPtr> waited;
  if (works_.is_checked) waited.assign(works.begin(), works.end());
  // The session may be gone by then: it is looked up again.
  works_.when_done(works, [&sessions = sessions_, number = session.number(), context,
                           waited = std::move(waited)] {
    Session* waiting = sessions.find(number);
    if (waiting == nullptr) return;
    waiting->learn(waited);
    reply_status(*waiting, context, wire::kSuccess);
  });
}

}  // namespace cuco::vcluster
