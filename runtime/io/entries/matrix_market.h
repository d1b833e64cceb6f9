#pragma once

#include "runtime/io/entries/entry_file.h"

namespace tdsl::rt {

/// Header of a Matrix Market file:
///
///     %%MatrixMarket matrix coordinate real symmetric
///     % comments
///     5 5 8
struct MatrixMarketHeader {
  enum class Field : std::uint8_t { kReal, kInteger, kPattern, kComplex };
  enum class Symmetry : std::uint8_t { kGeneral, kSymmetric, kSkew, kHermitian };

  bool coordinate = true;  ///< otherwise an array: values column by column; a symmetric matrix starts at the diagonal,
                           ///< a skew-symmetric one below it
  Field field = Field::kReal;
  Symmetry symmetry = Symmetry::kGeneral;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t lines = 0;        ///< number of data lines: stated, or implied by the shape
  std::int64_t size_offset = 0;  ///< byte offset of the size line
  std::int64_t data_offset = 0;  ///< byte offset of the line after it
};

/// A Matrix Market file (`.mtx`). Symmetric, skew-symmetric and Hermitian matrices are expanded entry by entry: (i, j),
/// then (j, i). `pattern` values are 1. Real numbers are read as floats or complex numbers, integers as any numeric
/// type: decimal text has no width and is rounded once.
class MatrixMarketFile : public EntryFile {
 public:
  explicit MatrixMarketFile(OpenFile file);

  [[nodiscard]] const MatrixMarketHeader& header() const { return header_; }
  [[nodiscard]] int rank() const override { return 2; }
  [[nodiscard]] std::optional<Extents> shape() const override { return Extents{header_.rows, header_.columns}; }
  void require_type(ElementType to, std::string_view name) const override;
  [[nodiscard]] Part read(ElementType type, std::int64_t part, std::int64_t parts) const override;
  [[nodiscard]] Extents settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const override;

 private:
  void check_count(std::int64_t found) const;

  MatrixMarketHeader header_;
};

}  // namespace tdsl::rt
