// In set-up, for the communicator that the program is given. Collective.
inline ncclResult_t comm_open(ncclComm_t comm) { return Communicators::all().add(&comm, 1); }

// In teardown, before anything is freed. Collective.
inline ncclResult_t comm_close_all() { return Communicators::all().remove_all(); }
