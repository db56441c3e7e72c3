// Other kernels compute beside the collectives: these leave most SMs to them. All ranks have GPUs of
// one kind, so they agree on the number.
inline Size size_beside() {
  constexpr int kShare = {{share}};
  int device = 0, sms = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  const int most = sms > kShare ? sms / kShare : 1;
  return Size{kSize.channels < most ? kSize.channels : most, kSize.box};
}

