#include "runtime/library/array_entries.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/library/boxes.h"
#include "runtime/shapes.h"

namespace tdsl::rt {

/// Rows of the caller's matrix.
class ArrayEntries final : public EntryFile {
 public:
  ArrayEntries(const Arrays& arrays, std::size_t input)
      : EntryFile("an array of the caller", {}), arrays_(arrays), input_(input) {}

  [[nodiscard]] int rank() const override { return 2; }
  [[nodiscard]] std::optional<Extents> shape() const override { return array().shape; }
  void require_type(ElementType to, std::string_view name) const override {
    if (to == array().type) return;
    throw RunError("input " + std::string(name) + " is declared " + std::string(element_name(to)) +
                       ", but the array holds " + std::string(element_name(array().type)) +
                       "; convert it [wrong-array]",
                   ExitCode::kUsage);
  }
  [[nodiscard]] Part read(ElementType type, std::int64_t part, std::int64_t parts) const override;
  [[nodiscard]] Extents settle(std::span<const Tally>, std::int64_t, Part&) const override { return array().shape; }

 private:
  [[nodiscard]] const Array& array() const { return arrays_.inputs_.mine[input_]; }
  template <class T, class Int>
  void append(const tdsl_sparse& rows, Index first, plan::Interval range, Entries& entries) const;

  const Arrays& arrays_;
  std::size_t input_;
};

/// Appends the rows `range` of the matrix, from rows that begin with `first`.
template <class T, class Int>
void ArrayEntries::append(const tdsl_sparse& rows, Index first, plan::Interval range, Entries& entries) const {
  const auto* const pointers = static_cast<const Int*>(rows.indptr);
  const auto* const columns = static_cast<const Int*>(rows.indices);
  const auto* const values = static_cast<const T*>(rows.values);
  const auto fail = [&](Index row, const std::string& text) {
    throw RunError("input " + array().name + ": row " + std::to_string(row) + text + " [wrong-array]",
                   ExitCode::kUsage);
  };
  for (Index row = range.lo; row < range.hi; ++row) {
    const Index begin = pointers[row - first], end = pointers[row - first + 1];
    if (begin < 0 || end < begin || end > rows.count) {
      fail(row, " has elements " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
                    std::to_string(rows.count));
    }
    for (Index k = begin; k < end; ++k) {
      const Index column = columns[k];
      if (column < 0 || column >= rows.cols)
        fail(row, " has an element in column " + std::to_string(column) + " of " + std::to_string(rows.cols));
      if constexpr (std::same_as<T, bool>) {
        if (!values[k]) continue;  // every entry of a bool is true
      }
      entries.append(std::array{row, column}, values[k]);
    }
  }
}

EntryFile::Part ArrayEntries::read(ElementType type, std::int64_t part, std::int64_t) const {
  Part result{entries_to_read({2, type, EntryForm::needs_wide(array().shape)}), {}};
  const std::vector<std::vector<Box>>& everyones = arrays_.inputs_.boxes[input_];
  std::vector<Box> taken;
  for (std::int64_t rank = 0; rank < part; ++rank) {
    const std::vector<Box>& theirs = everyones[static_cast<std::size_t>(rank)];
    taken.insert(taken.end(), theirs.begin(), theirs.end());
  }
  for (const Operand& mine : array().boxes) {
    if (mine.data == nullptr) continue;  // the layout of arrays without elements is asked for
    const tdsl_sparse& rows = Array::rows_of(mine);
    for (const Box& box : outside(mine.box, taken)) {
      visit_element_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (rows.index_bits == 32) {
          append<T, std::int32_t>(rows, mine.box[0].lo, box[0], result.entries);
        } else {
          append<T, std::int64_t>(rows, mine.box[0].lo, box[0], result.entries);
        }
      });
    }
    taken.push_back(mine.box);
  }
  result.tally.lines = result.entries.count();
  return result;
}

std::unique_ptr<EntryFile> entry_file(const Arrays& arrays, std::size_t input) {
  return std::make_unique<ArrayEntries>(arrays, input);
}

/// A sparse matrix for the caller.
class ArrayEntryOutput final : public EntryOutput {
 public:
  ArrayEntryOutput(Arrays& arrays, std::size_t output)
      : EntryOutput(arrays.outputs_.mine[output].type, arrays.outputs_.mine[output].shape, Written::kNonzeros),
        arrays_(arrays),
        output_(output) {}

 private:
  void take(Entries entries, EntryWriter::Rows rows) override {
    Box box = whole_box(arrays_.outputs_.mine[output_].shape);
    box[0] = {rows.first, rows.last};
    arrays_.outputs_.mine[output_].boxes = {{nullptr, box, {}, {}}};
    arrays_.entries_[output_] = std::move(entries);
  }

  Arrays& arrays_;
  std::size_t output_;
};

std::shared_ptr<EntryOutput> Arrays::entry_output(const std::string& name, ElementType type, ExtentSpan shape) {
  const std::size_t output = outputs_.find(name);
  if (output == outputs_.mine.size() || !outputs_.mine[output].sparse) return nullptr;
  if (shape.size() != 2)
    throw RunError("output " + name + " of shape " + shape_text({shape.begin(), shape.end()}) +
                   " cannot be given as a sparse matrix [wrong-array]");
  outputs_.mine[output].type = type;
  outputs_.mine[output].shape.assign(shape.begin(), shape.end());
  return std::make_shared<ArrayEntryOutput>(*this, output);
}

const Entries* Arrays::entries(std::size_t output) const {
  return output < entries_.size() && entries_[output] ? &*entries_[output] : nullptr;
}

namespace {

/// Compressed rows from entries in the order of their coordinates.
template <class T, class Int>
void write_rows(const Entries& entries, const Box& box, const tdsl_sparse& to) {
  auto* const pointers = static_cast<Int*>(to.indptr);
  auto* const columns = static_cast<Int*>(to.indices);
  auto* const values = static_cast<T*>(to.values);
  const EntryForm& form = entries.form();
  Index row = box[0].lo;
  Index count = 0;
  pointers[0] = 0;
  entries.for_each([&](const std::byte* entry) {
    for (const Index its = form.coordinate(entry, 0); row < its; ++row)
      pointers[row + 1 - box[0].lo] = static_cast<Int>(count);
    columns[count] = static_cast<Int>(form.coordinate(entry, 1));
    values[count] = form.value<T>(entry);
    ++count;
  });
  for (; row < box[0].hi; ++row) pointers[row + 1 - box[0].lo] = static_cast<Int>(count);
}

}  // namespace

void Arrays::fill(std::size_t output, const tdsl_sparse& to) {
  const Entries& entries = *entries_[output];
  const Array& array = outputs_.mine[output];
  const std::string what = "output " + array.name;
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  if (to.index_bits != 64 && (to.index_bits != 32 || entries.count() > kMost || array.shape[1] > kMost)) {
    throw RunError(what + " cannot be given with indices of " + std::to_string(to.index_bits) + " bits [wrong-array]",
                   ExitCode::kUsage);
  }
  if (to.indptr == nullptr || (entries.count() > 0 && (to.indices == nullptr || to.values == nullptr)))
    throw RunError(what + " has no memory to be filled [wrong-array]", ExitCode::kUsage);
  visit_element_type(array.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (to.index_bits == 32) {
      write_rows<T, std::int32_t>(entries, array.boxes.front().box, to);
    } else {
      write_rows<T, std::int64_t>(entries, array.boxes.front().box, to);
    }
  });
  entries_[output].reset();
}

}  // namespace tdsl::rt
