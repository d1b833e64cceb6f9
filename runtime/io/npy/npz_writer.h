#pragma once

#include <string>
#include <vector>

#include "runtime/io/entries/entry_writer.h"

namespace tdsl::rt {

/// A CSR matrix in the format of `scipy.sparse.save_npz(…, compressed=False)`: a zip archive with indices, indptr,
/// format, shape and data as `.npy` members. Members are stored uncompressed, so that ranks write their parts of each
/// directly at their final offsets.
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
    std::string head;               ///< .npy header; for small members the whole contents
    std::int64_t bytes = 0;         ///< bytes after the head
    std::int64_t local_offset = 0;  ///< offset of its local header
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(head.size()) + bytes; }
    [[nodiscard]] std::int64_t data_offset() const;
  };
  void lay_out(std::int64_t entries);

  bool wide_ = false;  ///< 8-byte indices
  std::vector<Member> members_;
  std::vector<std::byte> indices_, data_;
  std::vector<std::int64_t> row_counts_;
};

}  // namespace tdsl::rt
