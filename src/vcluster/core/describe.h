// SPDX-License-Identifier: Apache-2.0
/// \file
/// Words for reports.
#pragma once

namespace cuco::vcluster {

class Cluster;
class Session;

/// A thread is blocked in what nobody can predict: the user is told, once in a run.
void say_not_repeatable(Cluster& cluster, const Session& session);

}  // namespace cuco::vcluster
