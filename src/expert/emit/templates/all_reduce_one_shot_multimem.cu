// An all-reduce in one round: each rank lays its elements into a box of its own, and the switch adds
// up all ranks' boxes when they are read.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, {{type}}* recv, size_t count) {
  cuco::Channel<cuco::Path::Multimem> channel(site);
  channel.catch_up();
  for (auto piece = channel.first<{{type}}>(count, gridDim.x); piece.count > 0;
       piece = channel.next<{{type}}>(piece)) {
    cuco::copy(channel.own_box<{{type}}>(0), send + piece.begin, piece.count);
    channel.send();
    channel.receive();
    channel.reduce_by_switch<cuco::{{reduction}}>(recv + piece.begin, 0, piece.count);
    channel.done();
  }
}
