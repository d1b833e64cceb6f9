#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/npy/npy_elements.h"
#include "runtime/io/tensor/box_rows.h"

namespace tdsl::rt {

namespace {

constexpr std::int64_t kReadBufferBytes = std::int64_t{4} << 20;
// Rows separated by at most this gap are read together, including the gap.
constexpr std::int64_t kGapBytes = std::int64_t{16} << 10;
// Rows of at least this size that need no conversion are read directly into the destination.
constexpr std::int64_t kDirectReadBytes = std::int64_t{256} << 10;

constexpr std::size_t kRowsPerRead = 16384;

/// Reads magic, version, length and dictionary. Returns the header with its data offset.
NpyHeader read_header(int fd, const std::string& path, std::int64_t file_bytes) {
  std::array<unsigned char, 12> prefix{};
  const auto bytes_of = [](auto& container) { return std::as_writable_bytes(std::span(container)); };
  if (file_bytes < 10) {
    throw RunError("`" + path + "` is not a .npy file: it has only " + std::to_string(file_bytes) +
                   " bytes [bad-file]");
  }
  read_at(fd, bytes_of(prefix).first(std::min<std::size_t>(12, static_cast<std::size_t>(file_bytes))), 0, path);
  if (std::memcmp(prefix.data(), "\x93NUMPY", 6) != 0) {
    throw RunError("`" + path + "` is not a .npy file: it does not begin with NumPy`s mark [bad-file]");
  }
  if (prefix[6] < 1 || prefix[6] > 3) {
    throw RunError("`" + path + "` has .npy version " + std::to_string(prefix[6]) +
                   "; versions 1 to 3 are known [bad-file]");
  }
  const bool long_length = prefix[6] >= 2;
  std::int64_t length = prefix[8] | (prefix[9] << 8);
  if (long_length) { length |= (std::int64_t{prefix[10]} << 16) | (std::int64_t{prefix[11]} << 24); }
  const std::int64_t start = long_length ? 12 : 10;
  if (length > (std::int64_t{1} << 20) || start + length > file_bytes) {
    throw RunError("`" + path + "` is truncated: its header should have " + std::to_string(length) +
                   " bytes, the file has " + std::to_string(file_bytes) + " [bad-file]");
  }
  std::string text(static_cast<std::size_t>(length), ' ');
  read_at(fd, bytes_of(text), start, path);
  NpyHeader header = parse_npy_dictionary(text, path);
  header.data_offset = start + length;
  return header;
}

/// `f64[4, 5]`, with the type in the file.
std::string described(const NpyHeader& header) {
  std::string text = header.type_name() + "[";
  for (std::size_t d = 0; d < header.shape.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(header.shape[d]);
  }
  return text + "]";
}

/// Converts a row of stored elements of type From.
template <class From, class To>
void convert_row(const std::byte* from, bool swapped, To* to, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i * stride] = widened<To>(load_npy<From>(from + i * static_cast<std::int64_t>(sizeof(From)), swapped));
  }
}

/// Groups adjacent rows and reads each group with one call.
template <class From, class To>
class RowFetcher {
 public:
  RowFetcher(int fd, const NpyHeader& header, const std::string& path, To* destination)
      : fd_(fd), header_(header), path_(path), destination_(destination) {}

  void add(FileRow row) {
    constexpr std::int64_t size = sizeof(From);
    if (std::is_same_v<From, To> && !std::is_same_v<To, bool> && !header_.swapped && row.memory_stride == 1 &&
        row.count * size >= kDirectReadBytes) {
      auto bytes =
          std::as_writable_bytes(std::span(destination_ + row.memory_offset, static_cast<std::size_t>(row.count)));
      read_at(fd_, bytes, header_.data_offset + row.file_index * size, path_);
      return;
    }
    while (row.count > kReadBufferBytes / size) {
      FileRow piece = row;
      piece.count = kReadBufferBytes / size;
      add_small(piece);
      row.file_index += piece.count;
      row.memory_offset += piece.count * row.memory_stride;
      row.count -= piece.count;
    }
    add_small(row);
  }

  void flush() {
    if (rows_.empty()) { return; }
    constexpr std::int64_t size = sizeof(From);
    const std::int64_t first = rows_.front().file_index;
    const std::int64_t bytes = (rows_.back().file_index + rows_.back().count - first) * size;
    if (!buffer_) { buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(kReadBufferBytes)); }
    read_at(fd_, {buffer_.get(), static_cast<std::size_t>(bytes)}, header_.data_offset + first * size, path_);
    for (const FileRow& row : rows_) {
      convert_row<From>(buffer_.get() + (row.file_index - first) * size, header_.swapped,
                        destination_ + row.memory_offset, row.memory_stride, row.count);
    }
    rows_.clear();
  }

 private:
  void add_small(const FileRow& row) {
    constexpr std::int64_t size = sizeof(From);
    if (!rows_.empty()) {
      const FileRow& last = rows_.back();
      const std::int64_t gap = row.file_index - last.file_index - last.count;
      const std::int64_t reach = row.file_index + row.count - rows_.front().file_index;
      if (gap * size > kGapBytes || reach * size > kReadBufferBytes || rows_.size() == kRowsPerRead) { flush(); }
    }
    rows_.push_back(row);
  }

  int fd_;
  const NpyHeader& header_;
  const std::string& path_;
  To* destination_;
  std::vector<FileRow> rows_;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace

NpyHeader read_npy_header(const OpenFile& file) { return read_header(file.fd(), file.path(), file.bytes()); }

NpyReader::NpyReader(OpenFile file) : file_(std::move(file)), header_(read_npy_header(file_)) {
  const std::int64_t expected = header_.element_count() * header_.bytes;
  const std::int64_t found = file_.bytes() - header_.data_offset;
  if (found > expected && is_series(header_)) return;
  if (found != expected) {
    throw RunError("`" + path() + (found < expected ? "` is truncated: " : "` is too long: ") + described(header_) +
                   " needs " + std::to_string(expected) + " bytes of data, the file has " + std::to_string(found) +
                   " [bad-file]");
  }
}

ElementType type_of(const NpyHeader& elements) {
  const auto* const found = std::ranges::find_if(
      kNpyTypes, [&](const NpyType& t) { return t.kind == elements.kind && t.bytes == elements.bytes; });
  TDSL_CHECK(found != std::end(kNpyTypes), "an element type the header parser let through");
  return found->type;
}

bool NpyHeader::widens_to(ElementType to) const {
  const int size = static_cast<int>(element_size(part_type(to)));
  if (kind == 'b') return true;
  if (to == ElementType::kBool) return false;
  if (kind == 'c') return is_complex(to) && bytes <= 2 * size;
  const ElementType own = type_of(*this);
  if (kind != 'i' && kind != 'u') return is_float(to) && bytes <= size && (own == to || !is_half(to));
  // An unsigned integer needs one bit more than a signed one of the same size.
  const int bits = 8 * bytes - (kind == 'i' ? 1 : 0);
  if (is_half(to)) return bits <= (to == ElementType::kF16 ? 11 : 8);
  if (is_float(to)) return bits <= 24 || size >= 8;
  if (is_unsigned(to)) return kind == 'u' && bytes <= size;
  return bits < 8 * size;
}

void require_widening(const NpyHeader& elements, ElementType to, std::string_view name, const std::string& path) {
  if (!elements.widens_to(to)) {
    throw RunError("input " + std::string(name) + " is declared " + std::string(element_name(to)) + ", but `" + path +
                   "` holds " + elements.type_name() +
                   ", which does not widen to it; convert the file or declare a wider type [wrong-type]");
  }
}

void read_dense(int fd, const NpyHeader& header, const std::string& path, ElementType to, ExtentSpan lo, ExtentSpan hi,
                void* dst, ExtentSpan strides) {
  TDSL_CHECK(header.widens_to(to), "require_widening comes before read_box");
  const BoxRows rows(header.shape, header.fortran, lo, hi, strides);
  visit_element_type(to, [&](auto to_tag) {
    using To = typename decltype(to_tag)::type;
    visit_npy_type(header, [&](auto tag) {
      using From = typename decltype(tag)::type;
      RowFetcher<From, To> fetcher(fd, header, path, static_cast<To*>(dst));
      rows.for_each([&](const FileRow& row) { fetcher.add(row); });
      fetcher.flush();
    });
  });
}

void scatter_dense(const std::byte* from, const NpyHeader& elements, ElementType to, ExtentSpan extents, void* dst,
                   ExtentSpan strides) {
  scatter_box(from, elements, to, extents, Extents(extents.size(), 0), extents, dst, strides);
}

void scatter_box(const std::byte* from, const NpyHeader& elements, ElementType to, ExtentSpan extents, ExtentSpan lo,
                 ExtentSpan hi, void* dst, ExtentSpan strides) {
  const BoxRows rows(extents, false, lo, hi, strides);
  visit_element_type(to, [&](auto to_tag) {
    using To = typename decltype(to_tag)::type;
    visit_npy_type(elements, [&](auto tag) {
      using From = typename decltype(tag)::type;
      rows.for_each([&](const FileRow& row) {
        convert_row<From>(from + row.file_index * static_cast<std::int64_t>(sizeof(From)), elements.swapped,
                          static_cast<To*>(dst) + row.memory_offset, row.memory_stride, row.count);
      });
    });
  });
}

void NpyReader::read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const {
  read_dense(file_.fd(), header_, file_.path(), to, lo, hi, dst, strides);
  file_.require_unchanged();
}

}  // namespace tdsl::rt
