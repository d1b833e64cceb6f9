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
  void finish(std::span<const Numbers> all) override;

 private:
  [[nodiscard]] std::string header(std::int64_t entries) const;

  bool matrix_market_;
  std::int64_t count_ = 0;
  std::string text_;
};

}  // namespace tdsl::rt
