#pragma once

#include <string>
#include <vector>

#include "runtime/io/entries/entry_writer.h"

namespace tdsl::rt {

/// What `scipy.sparse.save_npz(…, compressed=False)` writes of a CSR matrix: a zip archive with indices, indptr,
/// format, shape and data as
/// `.npy` members. Members are stored, so that ranks write their parts of each where they belong.
class NpzWriter : public EntryWriter {
 public:
  NpzWriter(OutputFile file, ElementType type, std::vector<std::int64_t> shape)
      : EntryWriter(std::move(file), type, std::move(shape)) {}

  [[nodiscard]] Numbers take(const Entries& entries, Rows rows) override;
  [[nodiscard]] Numbers write(std::span<const Numbers> all, std::int64_t rank) override;
  void finish(std::span<const Numbers> all) override;

 private:
  struct Member {
    std::string name;
    std::string head;               ///< of the .npy, and all of it of small members
    std::int64_t bytes = 0;         ///< of what follows it
    std::int64_t local_offset = 0;  ///< of its local header
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(head.size()) + bytes; }
    [[nodiscard]] std::int64_t data_offset() const;
  };
  void lay_out(std::int64_t entries);

  bool wide_ = false;  ///< indices have 8 bytes
  std::vector<Member> members_;
  std::vector<std::byte> indices_, data_;
  std::vector<std::int64_t> row_counts_;
};

}  // namespace tdsl::rt
