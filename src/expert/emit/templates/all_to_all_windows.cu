// An all-to-all: each block stores its part of each section straight into the peers' results. First
// all have entered: nobody reads the last result any more. Last, all have stored.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const {{type}}* send, cuco::Place<{{type}}> recv, size_t count) {
  cuco::Channel<{{path}}> channel(site);
  channel.meet();
  const auto part = channel.part<{{type}}>(count, gridDim.x);
  const auto to = recv + (channel.rank() * count + part.begin);
  for (int i = 0; i < channel.ranks(); ++i) {
    const int peer = channel.neighbour(i);
    cuco::copy(channel.at(to, peer), send + peer * count + part.begin, part.count);
  }
  channel.meet();
}
