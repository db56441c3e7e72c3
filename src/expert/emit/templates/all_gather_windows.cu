// An all-gather: each block stores its part of this rank's elements straight into everybody's
// result. First all have entered: nobody reads the last result any more. Last, all have stored.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, cuco::Place<{{type}}> recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  channel.meet();
  const auto part = channel.part<{{type}}>(count, gridDim.x);
  channel.store_to_all(recv + (channel.rank() * count + part.begin), part.count,
                       [&](size_t i) { return cuco::load(send + part.begin, i, part.count); });
  channel.meet();
}
