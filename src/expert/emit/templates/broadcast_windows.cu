// A broadcast: the root stores straight into everybody's result. First all have entered: nobody
// reads the last result any more. Last, the root has stored.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, cuco::Place<{{type}}> recv, size_t count, int root) {
  cuco::Channel<{{path}}> channel(site);
  channel.meet();
  if (channel.rank() == root) {
    const auto part = channel.part<{{type}}>(count, gridDim.x);
    channel.store_to_all(recv + part.begin, part.count,
                         [&](size_t i) { return cuco::load(send + part.begin, i, part.count); });
  }
  channel.meet();
}
