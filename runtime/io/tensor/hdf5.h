#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "runtime/io/npy/npy.h"
#include "runtime/io/tensor/hdf5_plugin.h"
#include "runtime/io/tensor/tensor_file.h"

// Datasets of HDF5 files, `results.h5:/run/C`. Every rank reads and writes its own part, without MPI-IO and without
// waiting for others.

namespace tdsl::rt {

struct Hdf5Name {
  std::string file;
  std::string dataset;  ///< `/run/C`; empty if the path names none
};
/// Nothing if the path names no HDF5 file (`.h5` or `.hdf5`).
[[nodiscard]] std::optional<Hdf5Name> hdf5_name(const std::string& path);

/// Loads the library at the first call. Throws RunError, for the user of `path`, where it is not found.
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
  NpyHeader header_;  ///< of the dataset as if it were one array
  Extents piece_;     ///< edges of what is read at once
};

/// Datasets of one file have one temporary file, and the first that is committed gives it its name: all of them must
/// have been synced.
class Hdf5Writer final : public TensorWriter {
 public:
  /// Rank 0: datasets that this process has not committed yet share the file.
  [[nodiscard]] static std::shared_ptr<Hdf5Writer> create(const std::string& path, ElementType type, ExtentSpan shape);
  /// Null unless the token is an Hdf5Writer's.
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

/// A file is replaced whole: throws RunError where that would lose a dataset that none of a run's outputs writes, or
/// where two of them have one place. `outputs` are the paths of all, of other kinds too.
void require_hdf5_target(const std::string& path, std::span<const std::string> outputs);

}  // namespace tdsl::rt
