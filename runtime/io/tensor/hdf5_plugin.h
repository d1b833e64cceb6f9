#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Interface of libtdsl_hdf5.so (runtime/hdf5). Linking libhdf5 would cost every program 30 ms at start, so it is loaded
// when a file name requires it. The library is serial and handles metadata; elements are read and written directly at
// their file offsets wherever these are known.

namespace tdsl::rt {

/// Storage layout of a dataset.
struct Hdf5Layout {
  char kind = 'f';  ///< as in NpyHeader
  int bytes = 8;
  bool swapped = false;
  std::vector<std::int64_t> shape;
  std::int64_t offset = -1;         ///< file offset of elements in C order; -1: not contiguous
  std::vector<std::int64_t> chunk;  ///< chunk extents; empty: not chunked
  std::vector<std::int64_t>
      chunk_offsets;  ///< of chunks in C order, -1 for a chunk that must be read through the library; empty: unknown
  enum class Filter : std::uint8_t { kShuffle, kDeflate };
  bool packed = false;          ///< raw chunks are available (`read_chunk`): whole chunks, to which these filters apply
  std::vector<Filter> filters;  ///< in order of application
};

/// A dataset open for reading. Errors are std::runtime_error without the file's name.
class Hdf5Dataset {
 public:
  Hdf5Dataset() = default;
  Hdf5Dataset(const Hdf5Dataset&) = delete;
  Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;
  virtual ~Hdf5Dataset() = default;

  [[nodiscard]] const Hdf5Layout& layout() const { return layout_; }
  /// Reads a non-empty box, in C order and native byte order. Calls into the library are serialised within the process.
  virtual void read(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, std::byte* to) const = 0;
  /// For a `packed` dataset: the raw bytes of the chunk that begins at `first`, and a bit for every filter that was not
  /// applied to it. False if the chunk is not stored.
  virtual bool read_chunk(std::span<const std::int64_t> first, std::vector<std::byte>& stored,
                          unsigned& skipped) const = 0;

 protected:
  Hdf5Layout layout_;
};

/// A dataset with an unlimited first dimension, whose chunks are allocated before they are written.
struct Hdf5Series {
  std::vector<std::int64_t> chunk_offsets;  ///< in the file, in C order, from some record on
  std::int64_t extent_offset = 0;           ///< of the first extent, 8 bytes in this machine's order, in the file
};

class Hdf5Plugin {
 public:
  Hdf5Plugin() = default;
  Hdf5Plugin(const Hdf5Plugin&) = delete;
  Hdf5Plugin& operator=(const Hdf5Plugin&) = delete;
  virtual ~Hdf5Plugin() = default;

  /// `file` may be a descriptor's name in /proc.
  [[nodiscard]] virtual std::unique_ptr<const Hdf5Dataset> open(const std::string& file,
                                                                const std::string& dataset) const = 0;
  /// Full names of a file's datasets; empty if it is not an HDF5 file.
  [[nodiscard]] virtual std::vector<std::string> datasets(const std::string& file) const = 0;
  /// Adds a dataset, creating its parent groups, to a file, which is truncated for the `first` dataset. Space for its
  /// elements is allocated contiguously in C order but not initialised; returns its offset.
  virtual std::int64_t create(const std::string& file, bool first, const std::string& dataset, char kind, int bytes,
                              std::span<const std::int64_t> shape) const = 0;
  /// The same for a dataset with an unlimited first dimension; chunks extend over one record at most.
  [[nodiscard]] virtual Hdf5Series create_series(const std::string& file, bool first, const std::string& dataset,
                                                 char kind, int bytes, std::span<const std::int64_t> shape,
                                                 std::span<const std::int64_t> chunk) const = 0;
  /// Cuts the dataset back to `records` records (negative: as they are), then gives it chunks for `room` records, which
  /// becomes its first extent. Returns the chunks of records from number `from` on.
  [[nodiscard]] virtual Hdf5Series resize_series(const std::string& file, const std::string& dataset,
                                                 std::int64_t records, std::int64_t room, std::int64_t from) const = 0;
};

/// The library's only exported function. Its name changes with the interface above.
extern "C" __attribute__((visibility("default"))) const Hdf5Plugin* tdsl_hdf5_plugin_3();

}  // namespace tdsl::rt
