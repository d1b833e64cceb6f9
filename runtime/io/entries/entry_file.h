#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/entries/entries.h"
#include "runtime/io/open_file.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// A file of entries, which ranks read in parts: part p of P, in file order. Errors name the file and, of a text, the
/// line. Parts do not know each other: once all are read, `settle` compares what they have found.
class EntryFile {
 public:
  using Extents = std::vector<std::int64_t>;

  /// What a part says of itself to the others.
  struct Tally {
    std::int64_t lines = 0;  ///< entries that the file has there
    Extents reach;           ///< per dimension: largest coordinate + 1; only of files that need not say their shape
    std::vector<std::int64_t>
        sums{};  ///< of an archive: checksums of the bytes that the part has read, and their numbers
  };
  struct Part {
    Entries entries;
    Tally tally;
  };

  virtual ~EntryFile() = default;
  EntryFile(const EntryFile&) = delete;
  EntryFile& operator=(const EntryFile&) = delete;

  [[nodiscard]] const OpenFile& file() const { return file_; }
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] virtual int rank() const = 0;
  /// From the header, if the file has one; else extents are known to be at least what the entries reach.
  [[nodiscard]] virtual std::optional<Extents> shape() const = 0;
  /// Whether the tensor may have larger extents than its entries reach: elements that are not listed are absent.
  [[nodiscard]] virtual bool may_be_longer() const { return false; }
  /// Throws unless the file's elements may be read as `to` by the program's input `name`.
  virtual void require_type(ElementType to, std::string_view name) const = 0;
  /// Of a part no more bytes of entries are kept; 0: all are.
  void keep_at_most(std::int64_t bytes) { most_bytes_ = bytes; }
  /// Reads a part. Requires require_type(type). Memory is that of the entries and a buffer; what a header promises
  /// allocates nothing.
  [[nodiscard]] virtual Part read(ElementType type, std::int64_t part, std::int64_t parts) const = 0;
  /// All parts' tallies are here, and their entries are complete: throws what is wrong with them together, makes
  /// `mine`, which is number `part`, final, and returns the shape. Gives the same on every rank.
  [[nodiscard]] virtual Extents settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const = 0;

 protected:
  explicit EntryFile(OpenFile file) : file_(std::move(file)) {}
  [[nodiscard]] Entries entries_to_read(EntryForm form) const { return Entries(form, most_bytes_); }

 private:
  OpenFile file_;
  std::int64_t most_bytes_ = 0;
};

/// The whole file by one process: its shape and its entries.
[[nodiscard]] std::pair<EntryFile::Extents, Entries> read_whole(const EntryFile& file, ElementType type);
/// From the header, else by reading the file.
[[nodiscard]] EntryFile::Extents find_shape(const EntryFile& file);

}  // namespace tdsl::rt
