inline ncclResult_t send_messages(Communicator& communicator) {
  const Call call(communicator, communicator.messages_on);
  return exchange(call.site(), communicator.messages, communicator.messages_on);
}

// All that a group has collected.
inline ncclResult_t sent_messages(OpenGroup& group) {
  ncclResult_t result = ncclSuccess;
  for (Communicator* communicator : group.with_messages) {
    const ncclResult_t sent = send_messages(*communicator);
    if (result == ncclSuccess) result = sent;
  }
  group.with_messages.clear();
  return result;
}
