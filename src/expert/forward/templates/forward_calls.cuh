// The same where nobody but the exchange reads what is sent: what kernels send does not stay here.
template <typename Calls>
void plan_to_leave(Calls calls) {
  if (is_planning() || planned_here() != nullptr) return;
  plan(calls);
  if (planned_here() != nullptr) planned_here()->leave();
}

// The argument of a kernel that may store what is sent, where others may run beside it.
inline Forward forward_beside() {
  return planned_here() == nullptr ? Forward{} : planned_here()->for_kernel(true);
}
// The one of a kernel before those, which neither reads nor writes what is received.
inline Forward opening() {
  return planned_here() == nullptr ? Forward{} : planned_here()->for_opener();
}

inline ncclResult_t send_messages(Communicator& communicator) {
  Forwarding& forwarding = communicator.forwarding;
  const cudaStream_t stream = communicator.messages_on;
  if (!is_planning() && !forwarding.is_planned()) {
    const Call call(communicator, stream);
    return exchange(call.site(), communicator.messages, stream);
  }
  const Plan calls = plan_of(communicator.messages);
  communicator.messages.messages.clear();
  if (is_planning()) {
    planned_here() = &forwarding;
    return forwarding.plan(calls, stream);
  }
  planned_here() = nullptr;
  const Call call(communicator, stream);
  return forwarding.end(calls, stream);
}
