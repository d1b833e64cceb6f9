#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// What libtdsl_hdf5.so (runtime/hdf5) does for us. Linking libhdf5 would cost every program 30 ms at its start, so it
// is loaded when a file's name asks for it. The library is serial: it reads and writes what describes datasets;
// elements are read and written at their places in the file wherever it can say where they are.

namespace tdsl::rt {

/// How the elements of a dataset are stored.
struct Hdf5Layout {
  char kind = 'f';  ///< as in NpyHeader
  int bytes = 8;
  bool swapped = false;
  std::vector<std::int64_t> shape;
  std::int64_t offset = -1;         ///< in the file, of elements in C order; -1: they are not stored so
  std::vector<std::int64_t> chunk;  ///< edges of chunks; empty: there are none
  std::vector<std::int64_t>
      chunk_offsets;  ///< of chunks in C order, -1 where the library has to read one; empty: nothing is known of any
  enum class Filter : std::uint8_t { kShuffle, kDeflate };
  bool packed = false;  ///< chunks can be had as they are stored (`read_chunk`), which is whole, after these filters
  std::vector<Filter> filters;  ///< in the order in which they were applied
};

/// A dataset open for reading. What fails throws std::runtime_error, whose text does not name the file.
class Hdf5Dataset {
 public:
  Hdf5Dataset() = default;
  Hdf5Dataset(const Hdf5Dataset&) = delete;
  Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;
  virtual ~Hdf5Dataset() = default;

  [[nodiscard]] const Hdf5Layout& layout() const { return layout_; }
  /// Reads a box that is not empty, in C order and this machine's byte order. One thread of the process at a time is in
  /// the library.
  virtual void read(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, std::byte* to) const = 0;
  /// Of a `packed` dataset: the bytes of the chunk that begins there, and a bit for every filter that was not applied
  /// to it. False if it is not stored.
  virtual bool read_chunk(std::span<const std::int64_t> first, std::vector<std::byte>& stored,
                          unsigned& skipped) const = 0;

 protected:
  Hdf5Layout layout_;
};

class Hdf5Plugin {
 public:
  Hdf5Plugin() = default;
  Hdf5Plugin(const Hdf5Plugin&) = delete;
  Hdf5Plugin& operator=(const Hdf5Plugin&) = delete;
  virtual ~Hdf5Plugin() = default;

  /// `file` may be an open descriptor's name in /proc.
  [[nodiscard]] virtual std::unique_ptr<const Hdf5Dataset> open(const std::string& file,
                                                                const std::string& dataset) const = 0;
  /// The names of a file's datasets, from the root on; nothing where it is no HDF5 file.
  [[nodiscard]] virtual std::vector<std::string> datasets(const std::string& file) const = 0;
  /// Adds a dataset, with the groups on its way, to a file, which is made empty where it is the `first`. Its elements
  /// are all there, in C order, and have no values yet: returns where they begin.
  virtual std::int64_t create(const std::string& file, bool first, const std::string& dataset, char kind, int bytes,
                              std::span<const std::int64_t> shape) const = 0;
};

/// The one function of the library. Its name changes with what is above.
extern "C" __attribute__((visibility("default"))) const Hdf5Plugin* tdsl_hdf5_plugin_2();

}  // namespace tdsl::rt
