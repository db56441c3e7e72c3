// SPDX-License-Identifier: Apache-2.0
/// \file
/// Several observers where the GPU takes one: each is called, in the order of the list.
#pragma once

#include <utility>
#include <vector>

#include "vgpu/gpu/observer.h"

namespace cuco::vgpu {

class ObserverList final : public AccessObserver {
 public:
  explicit ObserverList(std::vector<AccessObserver*> observers)
      : observers_(std::move(observers)) {}

  void on_access(const Warp& warp, const Op& op, const AccessEvent& event) override {
    for (AccessObserver* observer : observers_)
      observer->on_access(warp, op, event);
  }
  void on_rows(const Warp& warp, std::span<const RowEvent> rows) override {
    for (AccessObserver* observer : observers_)
      observer->on_rows(warp, rows);
  }
  void on_fence(const Warp& warp, const Op& op, Order order, Scope scope) override {
    for (AccessObserver* observer : observers_)
      observer->on_fence(warp, op, order, scope);
  }
  void on_proxy_fence(const Warp& warp, const Op& op) override {
    for (AccessObserver* observer : observers_)
      observer->on_proxy_fence(warp, op);
  }
  void on_barrier_arrive(const Warp& warp,
                         const Op& op,
                         unsigned id,
                         std::uint32_t lanes) override {
    for (AccessObserver* observer : observers_)
      observer->on_barrier_arrive(warp, op, id, lanes);
  }
  void on_barrier_release(const Warp& warp, unsigned id, std::uint32_t lanes) override {
    for (AccessObserver* observer : observers_)
      observer->on_barrier_release(warp, id, lanes);
  }
  void on_warp_sync(const Warp& warp, const Op& op, std::uint32_t lanes) override {
    for (AccessObserver* observer : observers_)
      observer->on_warp_sync(warp, op, lanes);
  }
  void on_bulk_begin(const Warp& warp, const BulkCopy& copy) override {
    for (AccessObserver* observer : observers_)
      observer->on_bulk_begin(warp, copy);
  }
  void on_bulk_seen(const Warp& warp, const BulkCopy& copy, bool whole) override {
    for (AccessObserver* observer : observers_)
      observer->on_bulk_seen(warp, copy, whole);
  }
  void on_wait(const Warp& warp, const Op& op, WaitKind kind, VTime from, VTime to) override {
    for (AccessObserver* observer : observers_)
      observer->on_wait(warp, op, kind, from, to);
  }
  void on_grid_end(const Grid& grid) override {
    for (AccessObserver* observer : observers_)
      observer->on_grid_end(grid);
  }

 private:
  std::vector<AccessObserver*> observers_;
};

}  // namespace cuco::vgpu
