#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/io/entries/entry_file.h"
#include "runtime/io/tensor/tensor_file.h"

namespace tdsl::rt {

/// A program's input file, in the format given by its extension.
class InputFile {
 public:
  /// Opens the file and checks its header.
  explicit InputFile(const std::string& path);
  explicit InputFile(std::unique_ptr<const TensorReader> tensor) : file_(std::move(tensor)) {}
  explicit InputFile(std::unique_ptr<EntryFile> entries) : file_(std::move(entries)) {}

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const FileIdentity& identity() const;
  [[nodiscard]] std::size_t rank() const {
    return dense() != nullptr ? dense()->shape().size() : static_cast<std::size_t>(entries()->rank());
  }
  /// From the header; empty if only the entries determine it.
  [[nodiscard]] std::optional<Extents> shape() const;
  /// True if extents are only bounded below by the entries.
  [[nodiscard]] bool may_be_longer() const { return dense() == nullptr && entries()->may_be_longer(); }
  /// Throws unless the elements can be read as `to` by the input `name`.
  void require_type(ElementType to, const std::string& name) const;

  /// The reader of a dense file; otherwise null.
  [[nodiscard]] const TensorReader* dense() const;
  /// True if elements are in C order in the file, so that any box can be read cheaply at any time.
  [[nodiscard]] bool in_order() const;
  /// The reader of a file of entries; otherwise null.
  [[nodiscard]] const EntryFile* entries() const;
  /// For files of entries; see EntryFile::keep_at_most.
  void keep_at_most(std::int64_t bytes) { std::get<std::unique_ptr<EntryFile>>(file_)->keep_at_most(bytes); }

 private:
  std::variant<std::unique_ptr<const TensorReader>, std::unique_ptr<EntryFile>> file_;
};

/// Opens the file of the program's input `name` and checks that its type widens to the input's. Errors name the input,
/// or a line of the file.
[[nodiscard]] InputFile open_input(const std::string& name, const std::string& path, ElementType type);

/// Reads the whole tensor in C order into memory from `allocate(count)`; returns its shape. For a single process.
template <Element T, class Allocate>
[[nodiscard]] std::vector<std::int64_t> read_dense(const InputFile& file, Allocate&& allocate) {
  std::vector<std::int64_t> shape;
  Entries entries;
  if (file.dense() != nullptr) {
    shape = file.dense()->shape();
  } else {
    std::tie(shape, entries) = read_whole(*file.entries(), element_type_of<T>);
  }
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  const std::vector<std::int64_t> zero(shape.size(), 0);
  T* const elements = allocate(shape);
  if (file.dense() != nullptr) {
    file.dense()->read_box<T>(zero, shape, elements, strides);
  } else {
    entries.for_each([&](const std::byte* entry) { add_entry<T>(entries.form(), entry, elements, zero, strides); });
  }
  return shape;
}

}  // namespace tdsl::rt
