#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/open_file.h"
#include "runtime/io/output_file.h"
#include "runtime/types.h"

/// NumPy's `.npy` files, read and written in parallel: every rank touches its own boxes only, with no MPI in here.
/// All errors the user can cause are thrown as RunError (exit code 1) and name the file.
namespace tdsl::rt {

/// How the elements lie in a `.npy` file.
struct NpyHeader {
  char kind = 'f';       ///< 'b' bool, 'i' signed, 'u' unsigned, 'f' floating
  int bytes = 8;         ///< of one element
  bool swapped = false;  ///< stored in the other byte order than this machine's
  bool fortran = false;  ///< first index fastest
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  ///< of the first element, from the start of the file

  [[nodiscard]] std::int64_t element_count() const;
  /// The file's type in words: "bool", "i16", "u64", "f32".
  [[nodiscard]] std::string type_name() const;
  /// Whether the elements may be read as `to`. Widening follows NumPy's 'safe' casting: bool to anything, an
  /// integer to any type that holds all its values, f32 to f64, and every integer to f64 (i64 and u64 round there, as
  /// in NumPy). i32, i64, u32, u64 to f32 and f64 to f32 are narrowing.
  [[nodiscard]] bool widens_to(ElementType to) const;
};

/// Parses the dictionary of a header, e.g. `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`, without
/// `data_offset`. `path` is only for messages.
[[nodiscard]] NpyHeader parse_npy_dictionary(std::string_view text, const std::string& path);

/// The whole header NumPy would write for a C-order array, version 1.0: magic, dictionary, padding
/// to a multiple of 64 bytes. The file continues with the elements.
[[nodiscard]] std::string npy_header_bytes(ElementType type, std::span<const std::int64_t> shape);

/// One open `.npy` file. Immutable after construction, so any number of threads may read at once. What is read is the file
/// that was opened, also after another one has taken its name.
class NpyReader {
 public:
  /// Opens the file, which must be a regular one, reads its header and checks that it has exactly the size it announces.
  explicit NpyReader(std::string path) : NpyReader(OpenFile(std::move(path))) {}
  explicit NpyReader(OpenFile file);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const NpyHeader& header() const { return header_; }
  /// As it was when the header was read.
  [[nodiscard]] const FileIdentity& identity() const { return file_.identity(); }
  /// Extents; empty for a scalar.
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return header_.shape; }
  /// The smallest type of the language that holds every value of the file (u64 has only f64).
  [[nodiscard]] ElementType type() const;

  [[nodiscard]] bool widens_to(ElementType to) const { return header_.widens_to(to); }
  /// Throws the error that names both types unless `widens_to(to)`. `name` is the input's name in the program.
  void require_widening(ElementType to, std::string_view name) const;

  /// Reads the half-open box [lo, hi) of the file into `dst`: element lo + x goes to `dst[sum(x[d] * strides[d])]`.
  /// `strides` are in elements and may be in any order. Neighbouring rows are fetched with one pread of up to 4 MiB.
  /// Requires widens_to(element_type_of<T>) and 0 <= lo <= hi <= shape. Thread-safe. A file that was written to after its
  /// header was read is an error: its elements may belong to different arrays.
  template <Element T>
  void read_box(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, T* dst,
                std::span<const std::int64_t> strides) const;

 private:
  OpenFile file_;
  NpyHeader header_;
};

/// One `.npy` file being written by all ranks. It has no name, or a temporary one in the target's directory, until rank 0
/// commits it, so a failed run leaves an existing target untouched and no partial file. Bytes are the same for every
/// number of ranks. The order of calls:
///
///     rank 0: w = NpyWriter::create(path, type, shape)    others: w = NpyWriter::open(token broadcast by rank 0)
///     all:    w.write_box(...) any number of times; w.sync()
///     (barrier)
///     rank 0: w.commit()                                  others: w.release()
class NpyWriter {
 public:
  /// Creates the file, reserves the space and writes the header. An unwritable directory, a target that is not a regular
  /// file and a full disk are found here, before anything is computed. `--dry-run` creates and discards. A file system
  /// without unnamed files gets a named one.
  [[nodiscard]] static NpyWriter create(const std::string& path, ElementType type, std::span<const std::int64_t> shape,
                                        Unfinished unfinished = Unfinished::kUnnamed);
  /// Opens the file another process created. Throws if it is not visible from here (no shared file system).
  [[nodiscard]] static NpyWriter open(std::string_view token);

  /// All another rank needs for `open`, as bytes to broadcast.
  [[nodiscard]] std::string token() const;
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }

  /// Writes the half-open box [lo, hi) from `src` (strides in elements, as in NpyReader::read_box). T must be the
  /// file's type. Thread-safe; boxes written at the same time must not overlap.
  template <Element T>
  void write_box(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, const T* src,
                 std::span<const std::int64_t> strides) const;
  /// As those of OutputFile.
  void sync() const { file_.sync(); }
  void commit() { file_.commit(); }
  void discard() noexcept { file_.discard(); }
  void release() noexcept { file_.release(); }

 private:
  NpyWriter(OutputFile file, ElementType type, std::vector<std::int64_t> shape) : file_(std::move(file)), type_(type), shape_(std::move(shape)) {}

  OutputFile file_;
  ElementType type_;
  std::vector<std::int64_t> shape_;
  std::int64_t data_offset_ = 0;
};

}  // namespace tdsl::rt
