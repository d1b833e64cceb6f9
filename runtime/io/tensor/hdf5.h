#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/npy/npy.h"
#include "runtime/io/tensor/hdf5_plugin.h"
#include "runtime/io/tensor/tensor_file.h"

// Datasets of HDF5 files, `results.h5:/run/C`. Every rank reads and writes its own part, without MPI-IO and
// independently of the others.

namespace tdsl::rt {

struct Hdf5Name {
  std::string file;
  std::string dataset;  ///< `/run/C`; empty if the path has none
};
/// Empty if the path does not name an HDF5 file (`.h5` or `.hdf5`).
[[nodiscard]] std::optional<Hdf5Name> hdf5_name(const std::string& path);

/// Upper limit on the bytes of a chunk: a record of a series is one chunk, or several.
constexpr std::int64_t kMostRecordChunkBytes = std::int64_t{16} << 20;

/// Loads the library on first use. Throws a RunError for `path` if it is not found.
[[nodiscard]] const Hdf5Plugin& hdf5_plugin(const std::string& path);

class Hdf5Reader final : public TensorReader {
 public:
  explicit Hdf5Reader(const std::string& path);

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const FileIdentity& identity() const override { return file_.identity(); }
  [[nodiscard]] const Extents& shape() const override { return header_.shape; }
  [[nodiscard]] ElementType type() const override { return type_of(header_); }
  [[nodiscard]] bool widens_to(ElementType to) const override { return header_.widens_to(to); }
  void require_widening(ElementType to, std::string_view name) const override {
    rt::require_widening(header_, to, name, path_);
  }
  [[nodiscard]] bool contiguous() const { return dataset_->layout().offset >= 0; }

 private:
  void read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const override;
  void read_piece(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const;
  [[nodiscard]] bool read_packed(ElementType to, ExtentSpan first, ExtentSpan lo, ExtentSpan hi, void* dst,
                                 ExtentSpan strides) const;

  std::string path_;
  OpenFile file_;
  std::unique_ptr<const Hdf5Dataset> dataset_;
  NpyHeader header_;  ///< of the dataset as if it were contiguous
  Extents piece_;     ///< extents of one read
};

/// The datasets of one file share a temporary file. The first commit gives the file its name, so all datasets must be
/// synced before.
class Hdf5Writer final : public TensorWriter {
 public:
  /// On rank 0. Shares the file with datasets that this process has not committed yet.
  [[nodiscard]] static std::shared_ptr<Hdf5Writer> create(const std::string& path, ElementType type, ExtentSpan shape);
  /// Null unless the token is from an Hdf5Writer.
  [[nodiscard]] static std::shared_ptr<Hdf5Writer> open(std::string_view token);

  [[nodiscard]] std::string token() const override;
  [[nodiscard]] ElementType type() const override { return type_; }
  [[nodiscard]] const Extents& shape() const override { return shape_; }
  void sync() const override;
  void commit() override;
  void release() noexcept override;

  struct Target;  ///< a file being written

 private:
  Hdf5Writer() = default;
  void write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const override;

  std::shared_ptr<Target> target_;
  std::string path_;
  ElementType type_ = ElementType::kF64;
  Extents shape_;
  std::int64_t offset_ = 0;
};

/// A file is replaced as a whole: throws RunError if that would lose a dataset not written by the run's outputs, or if
/// two outputs name the same dataset. `outputs`: paths of all outputs of the run, in any format.
void require_hdf5_target(const std::string& path, std::span<const std::string> outputs);

/// Reverses the filters of a chunk, last to first, except those with a bit in `skipped`. The result must have `size`
/// bytes. Throws std::runtime_error, without the file's name, if the data is invalid.
void unpack_chunk(std::vector<std::byte>& bytes, const Hdf5Layout& layout, unsigned skipped, std::size_t size);

}  // namespace tdsl::rt
