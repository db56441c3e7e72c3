// In set-up, for the communicator that the program is given. Collective.
inline ncclResult_t comm_open(ncclComm_t comm) {
  Communicators::all().expect("given", 1);
  return Communicators::all().add(&comm, 1, "given");
}

// In teardown, before anything is freed. Collective.
inline ncclResult_t comm_close_all() { return Communicators::all().close_all(); }
