#pragma once

#include "runtime/io/entries/entry_file.h"
#include "runtime/io/entries/zip_archive.h"
#include "runtime/io/npy/npy.h"

namespace tdsl::rt {

/// A CSR matrix written by `scipy.sparse.save_npz` (`.npz`), compressed or not. Every rank reads the archive's members
/// from the beginning, because compressed ones allow no random access, and keeps its share of the entries.
class ScipyFile : public EntryFile {
 public:
  explicit ScipyFile(OpenFile file);

  [[nodiscard]] int rank() const override { return 2; }
  [[nodiscard]] std::optional<Extents> shape() const override { return Extents{rows_, columns_}; }
  void require_type(ElementType to, std::string_view name) const override;
  [[nodiscard]] Part read(ElementType type, std::int64_t part, std::int64_t parts) const override;
  [[nodiscard]] Extents settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const override;

 private:
  /// A one-dimensional array in the archive.
  struct Array {
    ZipMember member;
    NpyHeader header;
    [[nodiscard]] std::int64_t count() const { return header.shape.front(); }
  };
  [[nodiscard]] Array find(const std::string& name, bool integers) const;
  void check_format() const;
  void check_sums(std::span<const Tally> tallies, const Array& array, std::size_t column) const;

  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  Array indices_, pointers_, data_;
};

}  // namespace tdsl::rt
