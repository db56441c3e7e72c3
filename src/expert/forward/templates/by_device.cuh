
  // The only one of a device; else nothing.
  Communicator* on(int device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Communicator* only = nullptr;
    for (auto& [comm, communicator] : known_) {
      if (communicator.device != device) continue;
      if (only != nullptr) return nullptr;
      only = &communicator;
    }
    return only;
  }
