#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "runtime/io/npy/npy.h"
#include "runtime/io/tensor/tensor_file.h"

// Directories of tiles in the Zarr format (version 2): NAME.zarr/.zarray describes the array, and every tile is an
// uncompressed file of elements, named by its coordinates (`3.0`). Edge tiles have full size. A missing tile is filled
// with the fill value.

namespace tdsl::rt {

/// Contents of `.zarray`.
struct ZarrLayout {
  Extents shape;
  NpyHeader tile;          ///< of a tile's file: its shape is the tile's
  std::string fill = "0";  ///< a number, `NaN`, `Infinity` or `-Infinity`
  char separator = '.';    ///< in tile names

  [[nodiscard]] std::int64_t tile_bytes() const { return tile.element_count() * tile.bytes; }
};

/// Throws RunError if the text is not a Zarr array or uses unsupported features. `path` is for messages.
[[nodiscard]] ZarrLayout parse_zarray(std::string_view text, const std::string& path);
/// Text of `.zarray`, in the format of the zarr package.
[[nodiscard]] std::string zarray_text(ElementType type, ExtentSpan shape, ExtentSpan tile);
/// Tile extents for writing: halved, longest first, until a tile has at most `most` bytes.
[[nodiscard]] Extents zarr_tile(ElementType type, ExtentSpan shape, std::int64_t most = std::int64_t{8} << 20);

/// Writes a box of elements of type `from` into the tile files of a folder; several ranks may write parts of the same
/// tile. Calls `wrote` with the name of each tile's file.
WriteCount write_zarr_tiles(const std::string& folder, ElementType from, ExtentSpan tile, ExtentSpan lo, ExtentSpan hi,
                            const void* src, ExtentSpan strides, const std::function<void(const std::string&)>& wrote);

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

/// The directory has a temporary name until rank 0 commits it. Several ranks may write parts of the same tile.
class ZarrWriter final : public TensorWriter {
 public:
  /// Replaces only existing Zarr arrays.
  [[nodiscard]] static std::shared_ptr<ZarrWriter> create(const std::string& path, ElementType type, ExtentSpan shape);
  /// Null unless the token is from a ZarrWriter.
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
  int lock_ = -1;  ///< the creator's lock, which marks the directory as in use
  mutable std::mutex mutex_;
  mutable std::set<std::string> written_;  ///< tiles
};

/// Throws RunError unless an array can be written there.
void require_zarr_target(const std::string& path);

}  // namespace tdsl::rt
