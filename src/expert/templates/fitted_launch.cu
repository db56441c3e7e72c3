// Blocks of at most `most` threads that share a row of `length` elements, of which a thread takes
// `each` at once.
inline unsigned {{parts}}(size_t length, size_t each, unsigned most) {
  const size_t parts = (length + each * most - 1) / (each * most);
  return parts < 1 ? 1 : (unsigned)parts;
}

// Threads of one of them, in whole warps.
inline unsigned {{threads}}(size_t length, size_t each, unsigned most) {
  const unsigned parts = {{parts}}(length, each, most);
  const size_t share = ((length + each - 1) / each + parts - 1) / parts;
  const size_t threads = (share + 31) / 32 * 32;
  return threads < 32 ? 32 : threads > most ? most : (unsigned)threads;
}

// Short rows share a block: then it has no more threads along a row than that needs.
inline dim3 {{block}}(size_t length, size_t each, unsigned most) {
  const size_t needed = (length + each - 1) / each;
  const unsigned threads = needed < 1    ? 1
                           : needed < 32 ? (unsigned)needed
                                         : {{threads}}(length, each, most);
  return dim3(threads, {{parts}}(length, each, most) > 1 ? 1 : most / threads);
}

// Neighbours in x are neighbours in memory; rows go on in z where y has no room for them.
inline dim3 {{grid}}(unsigned rows, size_t length, size_t each, unsigned most) {
  const unsigned joined = {{block}}(length, each, most).y;
  const unsigned blocks = (rows + joined - 1) / joined;
  const unsigned layers = blocks / 65535 + 1;
  return dim3({{parts}}(length, each, most), (blocks + layers - 1) / layers, layers);
}
