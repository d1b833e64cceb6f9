#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "runtime/io/npy/npy.h"
#include "runtime/io/tensor/tensor_file.h"

// Directories of tiles, as Zarr (version 2) has them: NAME.zarr/.zarray says what the array is, and every tile is a
// file of its elements, uncompressed, called by its coordinates (`3.0`). Tiles at the end are as large as all others. A
// tile that is not there is filled with a value.

namespace tdsl::rt {

/// What `.zarray` says.
struct ZarrLayout {
  Extents shape;
  NpyHeader tile;          ///< of a tile's file: its shape is the tile's
  std::string fill = "0";  ///< a number, `NaN`, `Infinity` or `-Infinity`
  char separator = '.';    ///< in the names of tiles

  [[nodiscard]] std::int64_t tile_bytes() const { return tile.element_count() * tile.bytes; }
};

/// Throws RunError for what is no Zarr array, or one that cannot be read. `path` is for messages.
[[nodiscard]] ZarrLayout parse_zarray(std::string_view text, const std::string& path);
/// The text of `.zarray`, as the zarr package writes it.
[[nodiscard]] std::string zarray_text(ElementType type, ExtentSpan shape, ExtentSpan tile);
/// Edges of the tiles that we write: halved, the longest first, until a tile has 8 MiB at most.
[[nodiscard]] Extents zarr_tile(ElementType type, ExtentSpan shape);

class ZarrReader final : public TensorReader {
 public:
  explicit ZarrReader(const std::string& path);

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const FileIdentity& identity() const override { return head_.identity(); }
  [[nodiscard]] const Extents& shape() const override { return layout_.shape; }
  [[nodiscard]] ElementType type() const override { return type_of(layout_.tile); }
  [[nodiscard]] bool widens_to(ElementType to) const override { return layout_.tile.widens_to(to); }
  void require_widening(ElementType to, std::string_view name) const override {
    rt::require_widening(layout_.tile, to, name, path_);
  }

 private:
  void read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const override;

  std::string path_;
  OpenFile head_;
  ZarrLayout layout_;
};

/// The directory has a temporary name until rank 0 commits it. Several ranks may write parts of one tile.
class ZarrWriter final : public TensorWriter {
 public:
  /// Replaces what is a Zarr array already, and nothing else.
  [[nodiscard]] static std::shared_ptr<ZarrWriter> create(const std::string& path, ElementType type, ExtentSpan shape);
  /// Null unless the token is a ZarrWriter's.
  [[nodiscard]] static std::shared_ptr<ZarrWriter> open(std::string_view token);
  ~ZarrWriter() override;

  [[nodiscard]] std::string token() const override;
  [[nodiscard]] ElementType type() const override { return type_; }
  [[nodiscard]] const Extents& shape() const override { return shape_; }
  void sync() const override;
  void commit() override;
  void release() noexcept override;

 private:
  ZarrWriter() = default;
  void write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const override;

  std::string path_, temporary_;  ///< directories
  ElementType type_ = ElementType::kF64;
  Extents shape_, tile_;
  int slot_ = -1;  ///< in the table of temporaries
  int lock_ = -1;  ///< of the creator: what is locked is in use
  mutable std::mutex mutex_;
  mutable std::set<std::string> written_;  ///< tiles
};

/// Throws RunError unless an array can be written there.
void require_zarr_target(const std::string& path);

}  // namespace tdsl::rt
