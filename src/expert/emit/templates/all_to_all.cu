// An all-to-all: element i of section p goes to rank p. A piece of every section is read before any
// of it is written, by the same block, so that the buffers may be the same.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  const int rank = channel.rank();
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      channel.put(peer, send + peer * count + piece.begin, piece.count);
    }
    channel.send([&](int) { return piece.count * sizeof({{type}}); });
    cuco::copy(recv + rank * count + piece.begin, send + rank * count + piece.begin, piece.count);
    channel.receive();
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      cuco::copy(recv + peer * count + piece.begin, channel.box<{{type}}>(peer), piece.count);
    }
    channel.done();
  }
}
