// An all-reduce in two rounds: the switch adds up slice p for rank p, and carries the sum to all
// ranks. Slices begin at multiples of 16 bytes; the last ones may be short or empty.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<cuco::Path::Multimem> channel(site);
  const int rank = channel.rank();
  const size_t slice = cuco::slice_of<{{type}}>(count, channel.ranks());
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(slice, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    const auto begin = [&](int of) { return min(of * slice + piece.begin, count); };
    const auto size = [&](int of) { return min(piece.count, count - begin(of)); };
    for (int of = 0; of < channel.ranks(); ++of) {
      cuco::copy(channel.own_box<{{type}}>(of), send + begin(of), size(of));
    }
    channel.send();
    channel.receive();
    channel.reduce_by_switch<cuco::{{reduction}}>(recv + begin(rank), rank, size(rank));
    channel.done();

    channel.put_all(recv + begin(rank), size(rank));
    channel.send();
    channel.receive();
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      cuco::copy(recv + begin(peer), channel.box<{{type}}>(peer), size(peer));
    }
    channel.done();
  }
}
