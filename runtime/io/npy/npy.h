#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/open_file.h"
#include "runtime/io/output_file.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/types.h"

/// NumPy's `.npy` files, read and written in parallel: every rank accesses only its own boxes, without MPI. User errors
/// are thrown as RunError (exit code 1) and name the file.
namespace tdsl::rt {

/// Element layout of a `.npy` file.
struct NpyHeader {
  char kind = 'f';       ///< 'b' bool, 'i' signed, 'u' unsigned, 'f' floating, 'c' complex
  int bytes = 8;         ///< element size
  bool swapped = false;  ///< byte order differs from this machine's
  bool fortran = false;  ///< column-major
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  ///< file offset of the first element

  [[nodiscard]] std::int64_t element_count() const;
  /// Type name as in the language: "bool", "i16", "u64", "f32".
  [[nodiscard]] std::string type_name() const;
  /// True if the elements can be read as `to`. Widening follows NumPy's 'safe' casting: bool to anything, an integer to
  /// any type that holds all its values, f32 to f64, and every integer to f64 (i64 and u64 are rounded, as in NumPy).
  /// i32, i64, u32, u64 to f32 and f64 to f32 are narrowing.
  [[nodiscard]] bool widens_to(ElementType to) const;
};

/// The smallest TDSL type that holds all values of the elements (f64 for u64).
[[nodiscard]] ElementType type_of(const NpyHeader& elements);
/// Throws an error that names both types unless the elements widen to `to`. `name`: the program's input; `path`: the
/// file.
void require_widening(const NpyHeader& elements, ElementType to, std::string_view name, const std::string& path);

/// Reads a box of elements from an open file laid out according to the header. Adjacent rows are combined into one
/// pread of up to 4 MiB.
void read_dense(int fd, const NpyHeader& header, const std::string& path, ElementType to, ExtentSpan lo, ExtentSpan hi,
                void* dst, ExtentSpan strides);
/// Converts elements in C order, already read, into strided memory. `extents`: hi - lo of the box.
void scatter_dense(const std::byte* from, const NpyHeader& elements, ElementType to, ExtentSpan extents, void* dst,
                   ExtentSpan strides);
/// The same for a box within the elements.
void scatter_box(const std::byte* from, const NpyHeader& elements, ElementType to, ExtentSpan extents, ExtentSpan lo,
                 ExtentSpan hi, void* dst, ExtentSpan strides);
/// Writes a box of elements of type `from` into an array of the given shape in C order, which begins at `offset` in the
/// file.
WriteCount write_dense(int fd, ExtentSpan shape, std::int64_t offset, const std::string& path, ElementType from,
                       ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides);

/// Parses a header's dictionary, e.g. `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`; does not set
/// `data_offset`. `path` is for messages.
[[nodiscard]] NpyHeader parse_npy_dictionary(std::string_view text, const std::string& path);

/// NumPy's name of an element type: `<f8`, `|b1`.
[[nodiscard]] std::string npy_descriptor(ElementType type);

/// The complete header that NumPy writes for a C-order array, version 1.0: magic, dictionary, padding to a multiple of
/// 64 bytes, or to `least` bytes. The elements follow it.
[[nodiscard]] std::string npy_header_bytes(ElementType type, std::span<const std::int64_t> shape,
                                           std::size_t least = 0);
/// A longer header, of one size for every first extent: that of a file to which records are appended (io/series).
[[nodiscard]] std::string npy_series_header(ElementType type, std::span<const std::int64_t> shape);
/// True if the header has the room of a series. What follows its elements belongs to an incomplete record.
[[nodiscard]] bool is_series(const NpyHeader& header);

/// The header of an open file. Throws RunError.
[[nodiscard]] NpyHeader read_npy_header(const OpenFile& file);

/// An open `.npy` file; stays on the opened file even if another one takes its name. Adjacent rows are combined into
/// one pread of up to 4 MiB. A file modified after its header was read is an error, because its elements may be from
/// different arrays.
class NpyReader final : public TensorReader {
 public:
  /// Opens the file, which must be regular, reads its header, and checks that its size is exactly the one announced, or
  /// that of a series and an incomplete record.
  explicit NpyReader(std::string path) : NpyReader(OpenFile(std::move(path))) {}
  explicit NpyReader(OpenFile file);

  [[nodiscard]] const std::string& path() const override { return file_.path(); }
  [[nodiscard]] const NpyHeader& header() const { return header_; }
  [[nodiscard]] const FileIdentity& identity() const override { return file_.identity(); }
  [[nodiscard]] const Extents& shape() const override { return header_.shape; }
  [[nodiscard]] ElementType type() const override { return type_of(header_); }
  [[nodiscard]] bool widens_to(ElementType to) const override { return header_.widens_to(to); }
  void require_widening(ElementType to, std::string_view name) const override {
    rt::require_widening(header_, to, name, path());
  }

 private:
  void read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const override;

  OpenFile file_;
  NpyHeader header_;
};

/// A `.npy` file written by all ranks. It is unnamed, or has a temporary name in the target's directory, until rank 0
/// commits it. The bytes do not depend on the number of ranks.
class NpyWriter final : public TensorWriter {
 public:
  /// Creates the file, reserves space and writes the header. Detects an unwritable directory, a target that is not a
  /// regular file, and a full disk before anything is computed. `--dry-run` creates and discards. On a file system
  /// without unnamed files the file gets a temporary name.
  [[nodiscard]] static NpyWriter create(const std::string& path, ElementType type, std::span<const std::int64_t> shape,
                                        Unfinished unfinished = Unfinished::kUnnamed);
  /// Opens a file created by another process. Throws if it is not visible here (no shared file system).
  [[nodiscard]] static NpyWriter open(std::string_view token);

  [[nodiscard]] std::string token() const override;
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] ElementType type() const override { return type_; }
  [[nodiscard]] const Extents& shape() const override { return shape_; }
  /// See OutputFile.
  void sync() const override { file_.sync(); }
  void commit() override { file_.commit(); }
  void discard() noexcept { file_.discard(); }
  void release() noexcept override { file_.release(); }

 private:
  NpyWriter(OutputFile file, ElementType type, std::vector<std::int64_t> shape)
      : file_(std::move(file)), type_(type), shape_(std::move(shape)) {}
  void write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const override;

  OutputFile file_;
  ElementType type_;
  Extents shape_;
  std::int64_t data_offset_ = 0;
};

}  // namespace tdsl::rt
