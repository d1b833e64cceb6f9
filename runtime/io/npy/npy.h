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

/// The smallest type of the language that holds every value of such elements (u64 has only f64).
[[nodiscard]] ElementType type_of(const NpyHeader& elements);
/// Throws the error that names both types unless the elements widen to `to`. `name` is the input's name in the program,
/// `path` the file's.
void require_widening(const NpyHeader& elements, ElementType to, std::string_view name, const std::string& path);

/// Reads a box of elements that lie in an open file as the header says. Neighbouring rows are fetched with one pread of
/// up to 4 MiB.
void read_dense(int fd, const NpyHeader& header, const std::string& path, ElementType to, ExtentSpan lo, ExtentSpan hi,
                void* dst, ExtentSpan strides);
/// Converts elements that have been read, in C order, into memory of any strides. Their extents are hi - lo of a box.
void scatter_dense(const std::byte* from, const NpyHeader& elements, ElementType to, ExtentSpan extents, void* dst,
                   ExtentSpan strides);
/// The same for a box of them.
void scatter_box(const std::byte* from, const NpyHeader& elements, ElementType to, ExtentSpan extents, ExtentSpan lo,
                 ExtentSpan hi, void* dst, ExtentSpan strides);
/// Writes a box of elements of type `from` into a file where an array of that shape begins at `offset`, in C order.
WriteCount write_dense(int fd, ExtentSpan shape, std::int64_t offset, const std::string& path, ElementType from,
                       ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides);

/// Parses the dictionary of a header, e.g. `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`, without
/// `data_offset`. `path` is only for messages.
[[nodiscard]] NpyHeader parse_npy_dictionary(std::string_view text, const std::string& path);

/// The whole header NumPy would write for a C-order array, version 1.0: magic, dictionary, padding
/// to a multiple of 64 bytes. The file continues with the elements.
[[nodiscard]] std::string npy_header_bytes(ElementType type, std::span<const std::int64_t> shape);

/// One open `.npy` file. What is read is the file that was opened, also after another one has taken its name.
/// Neighbouring rows are fetched with one pread of up to 4 MiB. A file that was written to after its header was read is
/// an error: its elements may belong to different arrays.
class NpyReader final : public TensorReader {
 public:
  /// Opens the file, which must be a regular one, reads its header and checks that it has exactly the size it
  /// announces.
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

/// One `.npy` file being written by all ranks. It has no name, or a temporary one in the target's directory, until rank
/// 0 commits it. Bytes are the same for every number of ranks.
class NpyWriter final : public TensorWriter {
 public:
  /// Creates the file, reserves the space and writes the header. An unwritable directory, a target that is not a
  /// regular file and a full disk are found here, before anything is computed. `--dry-run` creates and discards. A file
  /// system without unnamed files gets a named one.
  [[nodiscard]] static NpyWriter create(const std::string& path, ElementType type, std::span<const std::int64_t> shape,
                                        Unfinished unfinished = Unfinished::kUnnamed);
  /// Opens the file another process created. Throws if it is not visible from here (no shared file system).
  [[nodiscard]] static NpyWriter open(std::string_view token);

  [[nodiscard]] std::string token() const override;
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] ElementType type() const override { return type_; }
  [[nodiscard]] const Extents& shape() const override { return shape_; }
  /// As those of OutputFile.
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
