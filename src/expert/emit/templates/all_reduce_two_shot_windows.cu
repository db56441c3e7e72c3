// An all-reduce in two steps: rank p reads everybody's slice p, adds up and stores the sum into
// everybody's result. A slice is read and written by one thread, so that the buffers may be the
// same. First all have entered: elements are computed, results no longer read. Last, all are done.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, cuco::Place<{{type}}> send, cuco::Place<{{type}}> recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  channel.meet();
  const size_t slice = cuco::slice_of<{{type}}>(count, channel.ranks());
  const size_t begin = min(channel.rank() * slice, count), size = min(slice, count - begin);
  const auto part = channel.part<{{type}}>(size, gridDim.x);
  const auto from = send + (begin + part.begin);
  channel.store_to_all(recv + (begin + part.begin), part.count, [&](size_t i) {
    return channel.reduced_pack<cuco::{{reduction}}>(from, i, part.count);
  });
  channel.meet();
}
