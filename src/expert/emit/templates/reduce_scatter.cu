// A reduce-scatter: rank p gets everybody's section p and adds up, in the order of ranks.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      channel.put(peer, send + peer * count + piece.begin, piece.count);
    }
    channel.send([&](int) { return piece.count * sizeof({{type}}); });
    channel.receive();
    channel.reduce_into<cuco::{{reduction}}>(recv + piece.begin,
                                        send + channel.rank() * count + piece.begin, piece.count);
    channel.done();
  }
}
