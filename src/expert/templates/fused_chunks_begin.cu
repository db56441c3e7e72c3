// `slice` are this rank's rows, at `offset` of the set's output.
Gather begin_gather(
    GatherResources& gather, int set, const char* slice, size_t offset, size_t bytes, int rows) {
  return {gather.comm,
          gather.outputs[set],
          gather.flags_window,
          gather.counters,
          slice,
          offset,
          bytes / rows,
          rows,
          ++gather.launches};
}
