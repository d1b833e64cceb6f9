#pragma once

#include <cstdint>
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

/// A file of entries, read by ranks in parts: part p of P, in file order. Errors name the file and, for text, the line.
/// Parts are independent; once all are read, `settle` combines their results.
class EntryFile {
 public:
  using Extents = std::vector<std::int64_t>;

  /// Counts that a part sends to the others.
  struct Tally {
    std::int64_t lines = 0;            ///< number of entries in this part of the file
    Extents reach;                     ///< per dimension: largest coordinate + 1; only for formats with optional shape
    std::vector<std::int64_t> sums{};  ///< for archives: checksums of the bytes read by the part, and their numbers
  };
  struct Part {
    Entries entries;
    Tally tally;
  };

  virtual ~EntryFile() = default;
  EntryFile(const EntryFile&) = delete;
  EntryFile& operator=(const EntryFile&) = delete;

  [[nodiscard]] const OpenFile& file() const { return *file_; }
  [[nodiscard]] const std::string& path() const { return file_ ? file_->path() : path_; }
  [[nodiscard]] const FileIdentity& identity() const { return file_ ? file_->identity() : identity_; }
  [[nodiscard]] virtual int rank() const = 0;
  /// From the header, if it has one; otherwise extents are bounded below by the entries' coordinates.
  [[nodiscard]] virtual std::optional<Extents> shape() const = 0;
  /// True if extents may exceed the entries' largest coordinates: elements not listed are absent.
  [[nodiscard]] virtual bool may_be_longer() const { return false; }
  /// Throws unless the file's elements can be read as `to` by the program's input `name`.
  virtual void require_type(ElementType to, std::string_view name) const = 0;
  /// Limits the bytes of entries kept per part; 0: no limit.
  void keep_at_most(std::int64_t bytes) { most_bytes_ = bytes; }
  /// Reads a part. Requires require_type(type). Memory: the entries and a buffer; sizes in a header are never trusted
  /// for allocation.
  [[nodiscard]] virtual Part read(ElementType type, std::int64_t part, std::int64_t parts) const = 0;
  /// Requires complete entries and the tallies of all parts. Checks them against each other, throwing on
  /// inconsistencies, makes `mine` (part number `part`) final, and returns the shape. Same result on every rank.
  [[nodiscard]] virtual Extents settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const = 0;

 protected:
  explicit EntryFile(OpenFile file) : file_(std::move(file)) {}
  /// Entries in memory, which have no file(); `path` stands for it in messages.
  EntryFile(std::string path, FileIdentity identity) : path_(std::move(path)), identity_(identity) {}
  [[nodiscard]] Entries entries_to_read(EntryForm form) const { return Entries(form, most_bytes_); }
  struct Range {
    std::int64_t first, last;
  };
  /// A part's share of [begin, end).
  [[nodiscard]] static Range range_of(std::int64_t begin, std::int64_t end, std::int64_t part, std::int64_t parts);
  /// Numbers of lines: before the part, and in total.
  [[nodiscard]] static std::pair<std::int64_t, std::int64_t> lines_of(std::span<const Tally> tallies,
                                                                      std::int64_t part);

 private:
  std::optional<OpenFile> file_;
  std::string path_;
  FileIdentity identity_;
  std::int64_t most_bytes_ = 0;
};

/// The shape and entries of a whole file, read by one process.
[[nodiscard]] std::pair<EntryFile::Extents, Entries> read_whole(const EntryFile& file, ElementType type);
/// From the header, otherwise by reading the file's values as `type`.
[[nodiscard]] EntryFile::Extents find_shape(const EntryFile& file, ElementType type);

}  // namespace tdsl::rt
