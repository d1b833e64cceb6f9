#pragma once

#include <string>

#include "runtime/io/entries/entry_writer.h"

namespace tdsl::rt {

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
