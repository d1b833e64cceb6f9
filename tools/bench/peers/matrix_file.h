#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Shared by the peer programs: reading row-major `.npy` matrices written by the harness, timing and reporting.

namespace peer {

inline void stop(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

/// The elements of a file as NumPy's save writes it (version 1 header, C order), mapped, and their number.
template <class T>
const T* all_of(const char* path, std::size_t& count) {
  const int file = ::open(path, O_RDONLY);
  struct stat info {};
  if (file < 0 || ::fstat(file, &info) != 0) stop(std::string("cannot read ") + path);
  void* const data = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (data == MAP_FAILED) stop(std::string("cannot map ") + path);
  const auto* bytes = static_cast<const unsigned char*>(data);
  const std::size_t header = 10 + bytes[8] + 256U * bytes[9];
  count = (static_cast<std::size_t>(info.st_size) - header) / sizeof(T);
  return reinterpret_cast<const T*>(bytes + header);
}

/// Such a file of `count` elements.
template <class T>
class MatrixFile {
 public:
  MatrixFile(const char* path, std::size_t count) {
    std::size_t elements = 0;
    elements_ = all_of<T>(path, elements);
    if (elements != count) stop(std::string(path) + " has another size");
  }
  const T* data() const { return elements_; }

 private:
  const T* elements_ = nullptr;
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// `r` as raw numbers into a file, and the seconds to standard output.
template <class T>
void report(double seconds, const std::vector<T>& r, const char* path) {
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr || std::fwrite(r.data(), sizeof(T), r.size(), file) != r.size())
    stop(std::string("cannot write ") + path);
  std::fclose(file);
  std::printf("{\"seconds\": %.9f}\n", seconds);
}

/// (C .* C) w, with C row-major: squares, so that no cheaper order of products gives it.
template <class T>
std::vector<T> squares_times(const T* c, const T* w, std::size_t rows, std::size_t columns) {
  std::vector<T> r(rows, T{0});
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) r[i] += c[i * columns + j] * c[i * columns + j] * w[j];
  }
  return r;
}

}  // namespace peer
