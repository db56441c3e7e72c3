inline ncclResult_t send_messages(Communicator& communicator) {
  const Call call(communicator, communicator.messages_on);
  return exchange(call.site(), communicator.messages, communicator.messages_on);
}
