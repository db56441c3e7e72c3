// One graph a buffer set, recorded before anything is timed: a run is one launch by the host.
int make_replays({{state}}& state) {
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 20;
  for (int set = 0; set < state.{{context}}.sets && set < kReplays; ++set) {
    cudaGraph_t graph = nullptr;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return 21;
    const int code = {{run}}_once({{recorded}});
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || code != 0) return 22;
    if (cudaGraphInstantiate(&state.replays[set], graph, 0) != cudaSuccess) return 23;
    cudaGraphDestroy(graph);
  }
  cudaStreamDestroy(stream);
  return 0;
}

{{signature}} {
  if ({{set}} >= kReplays) return {{run}}_once({{passed}});
  return cudaGraphLaunch({{access}}replays[{{set}}], {{stream}}) == cudaSuccess ? 0 : 1;
}
