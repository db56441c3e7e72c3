// SPDX-License-Identifier: Apache-2.0
// Sort, sort by key, reduce and scan from Thrust.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <algorithm>

#include "check.h"

int main() {
  const int n = 5000;
  const auto in = random_ints(n, 15, 1 << 20);
  thrust::device_vector<int> keys(in.begin(), in.end()), values(n), sums(n);
  for (int i = 0; i < 4; ++i) thrust::sequence(values.begin(), values.end());
  const int total = thrust::reduce(keys.begin(), keys.end(), 0);
  thrust::inclusive_scan(keys.begin(), keys.end(), sums.begin());
  thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
  std::vector<int> k(n), v(n), expected = in;
  thrust::copy(keys.begin(), keys.end(), k.begin());
  thrust::copy(values.begin(), values.end(), v.begin());
  std::sort(expected.begin(), expected.end());
  int sum = 0;
  for (const int x : in) sum += x;
  bool right = k == expected && total == sum && sums[n - 1] == sum;
  for (int i = 0; i < n; ++i) right = right && in[v[i]] == k[i];
  thrust::device_vector<float> floats(1000);
  const auto f = random_floats(1000, 16);
  thrust::copy(f.begin(), f.end(), floats.begin());
  thrust::sort(floats.begin(), floats.end(), thrust::greater<float>());
  right = right && std::is_sorted(f.begin(), f.begin() + 1) && floats[0] >= floats[999];
  return verdict(right, "thrust");
}
