// The slice begins at `offset` of this set's output.
Gather begin_gather(GatherResources& gather, int set, size_t offset) {
  return {gather.comm, gather.outputs[set], gather.flags_window, gather.counters,
          offset,      ++gather.launches};
}
