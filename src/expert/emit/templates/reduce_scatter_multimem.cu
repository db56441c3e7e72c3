// A reduce-scatter: each rank lays its sections into boxes of its own, and the switch adds up all
// ranks' section p when rank p reads it.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<cuco::Path::Multimem> channel(site);
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    for (int of = 0; of < channel.ranks(); ++of) {
      cuco::copy(channel.own_box<{{type}}>(of), send + of * count + piece.begin, piece.count);
    }
    channel.send();
    channel.receive();
    channel.reduce_by_switch<cuco::{{reduction}}>(recv + piece.begin, channel.rank(), piece.count);
    channel.done();
  }
}
