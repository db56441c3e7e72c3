// N elements that are loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N) {{vector}} {
  T values[N];
  __device__ T& operator[](int i) { return values[i]; }
  __device__ const T& operator[](int i) const { return values[i]; }
};

template <int N, typename T>
__device__ {{vector}}<T, N> {{load}}(const T* at) {
  return *reinterpret_cast<const {{vector}}<T, N>*>(at);
}

template <int N, typename T>
__device__ void {{store}}(T* at, const {{vector}}<T, N>& vector) {
  *reinterpret_cast<{{vector}}<T, N>*>(at) = vector;
}

// Whether N elements may be loaded and stored at once from there on.
template <int N, typename T>
__device__ bool {{aligned}}(const T* at) {
  return reinterpret_cast<size_t>(at) % sizeof({{vector}}<T, N>) == 0;
}
