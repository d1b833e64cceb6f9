#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/entries/entries.h"
#include "runtime/io/output_file.h"

namespace tdsl::rt {

/// The entries in ascending order of their coordinates, which must be unique.
[[nodiscard]] Entries sorted(const Entries& entries);

/// Which elements of a dense array are written as entries.
enum class Written : std::uint8_t {
  kNonzeros,
  kAllButZeros,  ///< -0 is written, because a file with all elements preserves its sign
};
template <Element T>
[[nodiscard]] bool is_written(T value, Written written) {
  if constexpr (kIsComplex<T>)
    return value != T(0) || (written == Written::kAllButZeros && (std::signbit(value.re) || std::signbit(value.im)));
  else if constexpr (std::floating_point<T>)
    return value != T(0) || (written == Written::kAllButZeros && std::signbit(value));
  return value != T(0);
}

/// A file of entries (`.mtx`, `.tns`, `.npz`) written by all ranks. Each rank writes a range of rows, in rank order, so
/// the bytes do not depend on the number of ranks. Call order on every rank, where `gather` returns every rank's
/// numbers:
///
///     rank 0: w = create(path, type, shape)     others: w = open(token)
///     first = w->take(sorted entries, rows)
///     second = w->write(gather(first), rank)
///     rank 0: w->finish(gather(second))
///     then as with OutputFile: sync, barrier, commit or release
class EntryWriter {
 public:
  using Numbers = std::vector<std::int64_t>;
  struct Rows {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };

  [[nodiscard]] static std::unique_ptr<EntryWriter> create(const std::string& path, ElementType type,
                                                           std::span<const std::int64_t> shape,
                                                           Unfinished unfinished = Unfinished::kUnnamed);
  [[nodiscard]] static std::unique_ptr<EntryWriter> open(std::string_view token);
  virtual ~EntryWriter() = default;
  EntryWriter(const EntryWriter&) = delete;
  EntryWriter& operator=(const EntryWriter&) = delete;

  [[nodiscard]] std::string token() const;
  [[nodiscard]] OutputFile& file() { return file_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }

  /// Which elements are entries.
  [[nodiscard]] virtual Written written() const { return Written::kNonzeros; }
  /// Formats the entries; writes nothing yet.
  [[nodiscard]] virtual Numbers take(const Entries& entries, Rows rows) = 0;
  [[nodiscard]] virtual Numbers write(std::span<const Numbers> all, std::int64_t rank) = 0;
  virtual void finish(std::span<const Numbers> all) = 0;

 protected:
  EntryWriter(OutputFile file, ElementType type, std::vector<std::int64_t> shape)
      : file_(std::move(file)), type_(type), shape_(std::move(shape)) {}

 private:
  static std::unique_ptr<EntryWriter> make(OutputFile file, ElementType type, std::vector<std::int64_t> shape);

  OutputFile file_;
  ElementType type_;
  std::vector<std::int64_t> shape_;
};

/// Writes the entries from a single process.
void write_entries(EntryWriter& writer, const Entries& entries);

/// The entries to write for a dense array in C order.
template <Element T>
[[nodiscard]] Entries nonzeros(std::span<const std::int64_t> shape, std::span<const T> elements,
                               Written written = Written::kNonzeros) {
  Entries entries({static_cast<int>(shape.size()), element_type_of<T>, EntryForm::needs_wide(shape)});
  std::vector<std::int64_t> at(shape.size(), 0);
  for (const T value : elements) {
    if (is_written(value, written)) entries.append(at, value);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return entries;
}

}  // namespace tdsl::rt
