#pragma once

#include <string>

#include "runtime/io/entries/entry_writer.h"

namespace tdsl::rt {

/// Matrix Market (coordinate, general) and FROSTT: one entry per line, 1-based subscripts, numbers in their shortest
/// round-trip representation. Bools are written as a pattern, in FROSTT as ones. The first line of a FROSTT file is a
/// comment with the shape.
class TextEntryWriter : public EntryWriter {
 public:
  TextEntryWriter(OutputFile file, ElementType type, std::vector<std::int64_t> shape, bool matrix_market)
      : EntryWriter(std::move(file), type, std::move(shape)), matrix_market_(matrix_market) {}

  [[nodiscard]] Numbers take(const Entries& entries, Rows rows) override;
  [[nodiscard]] Numbers write(std::span<const Numbers> all, std::int64_t rank) override;
  void finish(std::span<const Numbers>) override {}

 private:
  [[nodiscard]] std::string header(std::int64_t entries) const;

  bool matrix_market_;
  std::int64_t count_ = 0;
  std::string text_;
};

/// Comma-separated values: one line per row, numbers in their shortest round-trip representation, bools as 0 and 1. All
/// elements are written; missing entries are 0.
class CsvWriter : public EntryWriter {
 public:
  CsvWriter(OutputFile file, ElementType type, std::vector<std::int64_t> shape)
      : EntryWriter(std::move(file), type, std::move(shape)) {}

  [[nodiscard]] Written written() const override { return Written::kAllButZeros; }
  [[nodiscard]] Numbers take(const Entries& entries, Rows rows) override;
  [[nodiscard]] Numbers write(std::span<const Numbers> all, std::int64_t rank) override;
  void finish(std::span<const Numbers>) override {}

 private:
  std::string text_;
};

}  // namespace tdsl::rt
