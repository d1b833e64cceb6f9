#include "runtime/io/entries/scipy_npz.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "runtime/io/npy/npy_elements.h"

namespace tdsl::rt {

namespace {

constexpr std::int64_t kMostHeaderBytes = 1 << 16;

/// Reads the dictionary of a `.npy` member; returns the number of bytes before the elements.
std::int64_t take_dictionary(ZipReader& reader, std::string& dictionary) {
  std::array<unsigned char, 8> mark{};
  reader.read(std::as_writable_bytes(std::span(mark)));
  if (std::memcmp(mark.data(), "\x93NUMPY", 6) != 0 || mark[6] < 1 || mark[6] > 3) reader.fail("it is not an array");
  const std::int64_t length = mark[6] == 1 ? reader.take<std::uint16_t>() : reader.take<std::uint32_t>();
  if (length > kMostHeaderBytes) reader.fail("its header is too long");
  dictionary.resize(static_cast<std::size_t>(length));
  reader.read(std::as_writable_bytes(std::span(dictionary)));
  return (mark[6] == 1 ? 10 : 12) + length;
}

/// The numbers of an array in sequence, from `first` to before `last`.
class NumberStream {
 public:
  NumberStream(const OpenFile& file, const ZipMember& member, const NpyHeader& header, std::int64_t first,
               std::int64_t last, bool with_header)
      : reader_(file, member), header_(header), left_((last - first) * header.bytes) {
    buffer_.resize(std::size_t{1} << 16);
    if (with_header) {
      for (std::int64_t rest = header.data_offset; rest > 0;) {
        const std::int64_t n = std::min(rest, static_cast<std::int64_t>(buffer_.size()));
        reader_.read(std::span(buffer_).first(static_cast<std::size_t>(n)));
        rest -= n;
      }
      reader_.skip(first * header.bytes);
    } else {
      reader_.skip(header.data_offset + first * header.bytes);
    }
  }
  NumberStream(const OpenFile& file, const ZipMember& member, const NpyHeader& header)
      : NumberStream(file, member, header, 0, header.shape.front(), true) {}
  /// Pointer to the next element, valid until the next call.
  [[nodiscard]] const std::byte* next() {
    const auto size = static_cast<std::size_t>(header_.bytes);
    if (at_ == end_) {
      end_ = std::min(buffer_.size(), static_cast<std::size_t>(left_)) / size * size;
      if (end_ == 0) reader_.fail("it has too few elements");
      reader_.read(std::span(buffer_).first(end_));
      left_ -= static_cast<std::int64_t>(end_);
      at_ = 0;
    }
    const std::byte* const element = buffer_.data() + at_;
    at_ += size;
    return element;
  }
  [[nodiscard]] std::int64_t next_integer() {
    const std::byte* const from = next();
    if (header_.kind == 'u')
      return header_.bytes == 8 ? load_npy<std::int64_t>(from, header_.swapped)
                                : load_npy<std::uint32_t>(from, header_.swapped);
    return header_.bytes == 8 ? load_npy<std::int64_t>(from, header_.swapped)
                              : load_npy<std::int32_t>(from, header_.swapped);
  }
  [[noreturn]] void fail(const std::string& message) const { reader_.fail(message); }
  void check_sum() const { reader_.check_sum(); }
  void append_sum(std::vector<std::int64_t>& sums) const {
    sums.insert(sums.end(), {reader_.sum(), reader_.summed_bytes()});
  }

 private:
  ZipReader reader_;
  const NpyHeader& header_;
  std::int64_t left_;  ///< bytes not read yet
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace

ScipyFile::Array ScipyFile::find(const std::string& name, bool integers) const {
  for (const ZipMember& member : zip_members(file())) {
    if (member.name != name) continue;
    Array array{member, {}};
    ZipReader reader(file(), member);
    std::string dictionary;
    const std::int64_t offset = take_dictionary(reader, dictionary);
    array.header = parse_npy_dictionary(dictionary, path() + "/" + name);
    array.header.data_offset = offset;
    const bool fits = !integers || ((array.header.kind == 'i' || array.header.kind == 'u') && array.header.bytes >= 4);
    if (array.header.shape.size() != 1 || !fits)
      reader.fail("it is not a list of " + std::string(integers ? "integers" : "numbers"));
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(array.count(), std::int64_t{array.header.bytes}, &bytes) ||
        bytes != member.bytes - offset)
      reader.fail("its size is not that of its shape");
    return array;
  }
  throw RunError("`" + path() + "` has no " + name +
                 ": it is no matrix that scipy.sparse.save_npz has written in CSR format [bad-file]");
}

void ScipyFile::check_format() const {
  for (const ZipMember& member : zip_members(file())) {
    if (member.name != "format.npy") continue;
    ZipReader reader(file(), member);
    std::string text;
    (void)take_dictionary(reader, text);
    if (reader.left() > kMostHeaderBytes) reader.fail("it is too long");
    text.resize(static_cast<std::size_t>(reader.left()));
    reader.read(std::as_writable_bytes(std::span(text)));
    reader.check_sum();
    std::erase(text, '\0');
    if (text == "csr") return;
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    throw RunError("`" + path() + "` holds a matrix in the format `" + text.substr(0, 20) +
                   "`; only `csr` can be read: call tocsr() before save_npz [bad-file]");
  }
  throw RunError(
      "`" + path() +
      "` has no format.npy: it is no matrix that scipy.sparse.save_npz has written in CSR format [bad-file]");
}

ScipyFile::ScipyFile(OpenFile opened) : EntryFile(std::move(opened)) {
  check_format();
  const Array shape = find("shape.npy", true);
  NumberStream numbers(file(), shape.member, shape.header);
  if (shape.count() != 2) numbers.fail("a matrix has two extents");
  rows_ = numbers.next_integer();
  columns_ = numbers.next_integer();
  numbers.check_sum();
  indices_ = find("indices.npy", true);
  pointers_ = find("indptr.npy", true);
  data_ = find("data.npy", false);
  const bool good = rows_ >= 0 && rows_ < std::int64_t{1} << 60 && columns_ >= 0 && pointers_.count() == rows_ + 1 &&
                    data_.count() == indices_.count();
  if (!good)
    throw RunError("`" + path() + "`: the lengths of shape, indptr, indices and data do not fit each other [bad-file]");
}

void ScipyFile::require_type(ElementType to, std::string_view name) const {
  if (data_.header.widens_to(to)) return;
  throw RunError("input " + std::string(name) + " is declared " + std::string(element_name(to)) + ", but `" + path() +
                 "` holds " + data_.header.type_name() +
                 ", which does not widen to it; convert the file or declare a wider type [wrong-type]");
}

EntryFile::Part ScipyFile::read(ElementType type, std::int64_t part, std::int64_t parts) const {
  const std::int64_t count = indices_.count();
  const Range range = range_of(0, count, part, parts);
  const Extents extents{rows_, columns_};
  Part result{entries_to_read({2, type, EntryForm::needs_wide(extents)}), {range.last - range.first, {}, {}}};
  NumberStream pointers(file(), pointers_.member, pointers_.header);
  NumberStream indices(file(), indices_.member, indices_.header, range.first, range.last, part == 0);
  NumberStream data(file(), data_.member, data_.header, range.first, range.last, part == 0);
  std::int64_t begin = pointers.next_integer();
  if (begin != 0) pointers.fail("it does not begin with 0");
  visit_element_type(type, [&](auto to) {
    visit_npy_type(data_.header, [&](auto from) {
      using T = typename decltype(to)::type;
      using From = typename decltype(from)::type;
      for (std::int64_t row = 0; row < rows_; ++row) {
        const std::int64_t end = pointers.next_integer();
        if (end < begin || end > count)
          pointers.fail("row " + std::to_string(row) + " ends at " + std::to_string(end) +
                        ", which is not between its beginning and the end");
        for (std::int64_t k = std::max(begin, range.first); k < std::min(end, range.last); ++k) {
          const std::int64_t column = indices.next_integer();
          if (column < 0 || column >= columns_)
            indices.fail("column " + std::to_string(column) + " is not one of 0 to " + std::to_string(columns_ - 1));
          const T value = widened<T>(load_npy<From>(data.next(), data_.header.swapped));
          if (std::same_as<T, bool> && value == T(0)) continue;  // every entry of a bool is true
          result.entries.append(std::array{row, column}, value);
        }
        begin = end;
      }
    });
  });
  if (begin != count)
    pointers.fail("its last row ends at " + std::to_string(begin) + " of " + std::to_string(count) + " entries");
  file().require_unchanged();
  pointers.check_sum();
  indices.check_sum();
  data.check_sum();
  indices.append_sum(result.tally.sums);
  data.append_sum(result.tally.sums);
  return result;
}

/// Each part of a stored member is read by a single rank; a deflated member is read from its beginning, and its last
/// part has checked it.
void ScipyFile::check_sums(std::span<const Tally> tallies, const Array& array, std::size_t column) const {
  if (array.member.method != 0) return;
  uLong sum = 0;
  for (const Tally& tally : tallies) {
    sum = ::crc32_combine(sum, static_cast<uLong>(tally.sums.at(column)),
                          static_cast<z_off_t>(tally.sums.at(column + 1)));
  }
  if (sum != array.member.crc) ZipReader(file(), array.member).fail("its checksum is wrong: the file is damaged");
}

EntryFile::Extents ScipyFile::settle(std::span<const Tally> tallies, std::int64_t, Part&) const {
  check_sums(tallies, indices_, 0);
  check_sums(tallies, data_, 2);
  return {rows_, columns_};
}

}  // namespace tdsl::rt
