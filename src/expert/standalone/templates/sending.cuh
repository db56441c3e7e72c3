{{send_messages}}
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
