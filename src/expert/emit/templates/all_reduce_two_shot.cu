// An all-reduce in two rounds: rank p gets everybody's slice p and adds up, then it sends the sum to
// everybody. Slices begin at multiples of 16 bytes; the last ones may be short or empty.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  const int rank = channel.rank();
  const size_t slice = cuco::slice_of<{{type}}>(count, channel.ranks());
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(slice, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    const auto begin = [&](int of) { return min(of * slice + piece.begin, count); };
    const auto size = [&](int of) { return min(piece.count, count - begin(of)); };
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      channel.put(peer, send + begin(peer), size(peer));
    }
    channel.send([&](int peer) { return size(peer) * sizeof({{type}}); });
    channel.receive();
    channel.reduce_into<cuco::{{reduction}}>(recv + begin(rank), send + begin(rank), size(rank));
    channel.done();

    channel.put_all(recv + begin(rank), size(rank));
    channel.send([&](int) { return size(rank) * sizeof({{type}}); });
    channel.receive();
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      cuco::copy(recv + begin(peer), channel.box<{{type}}>(peer), size(peer));
    }
    channel.done();
  }
}
