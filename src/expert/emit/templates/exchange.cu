// Messages between pairs of ranks. A pair does as many rounds as the longer of its two directions
// has pieces; a round without data gives a box back.
__global__ void __launch_bounds__({{threads}})
    {{name}}_kernel(cuco::Site site, const __grid_constant__ cuco::Messages<{{type}}> messages) {
  cuco::Channel<{{path}}> channel(site);
  const int rank = channel.rank();
  messages.copy_own(rank);
  const int rounds = messages.rounds(channel);
  for (int round = 0; round < rounds; ++round) {
    const auto takes_part = [&](int p) { return round < messages.rounds_with(channel, p); };
    channel.ready(takes_part);
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      const auto piece = messages.piece_to(channel, peer, round);
      channel.put(peer, messages.to[peer] + piece.begin, piece.count);
    }
    channel.send(
        [&](int p) { return messages.piece_to(channel, p, round).count * sizeof({{type}}); },
        takes_part);
    channel.receive([&](int p) { return messages.piece_from(channel, p, round).count > 0; });
    for (int i = 1; i < channel.ranks(); ++i) {
      const int peer = channel.neighbour(i);
      const auto piece = messages.piece_from(channel, peer, round);
      cuco::copy(messages.from[peer] + piece.begin, channel.box<{{type}}>(peer), piece.count);
    }
    channel.fall_behind();  // who only sends has not waited
    channel.done(takes_part);
  }
}
