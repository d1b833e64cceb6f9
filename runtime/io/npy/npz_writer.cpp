#include "runtime/io/npy/npz_writer.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "runtime/io/npy/npy.h"

namespace tdsl::rt {

namespace {

constexpr std::int64_t kLocalHeaderBytes = 30 + 20;  // plus the name; sizes are in the extra field, 8 bytes each

/// A zip record of little-endian numbers.
class Record {
 public:
  Record& u16(std::uint64_t x) { return put(x, 2); }
  Record& u32(std::uint64_t x) { return put(x, 4); }
  Record& u64(std::uint64_t x) { return put(x, 8); }
  Record& text(const std::string& s) {
    bytes += s;
    return *this;
  }
  std::string bytes;

 private:
  Record& put(std::uint64_t x, int count) {
    for (int k = 0; k < count; ++k) bytes += static_cast<char>(x >> (8 * k) & 0xff);
    return *this;
  }
};

/// zlib takes 32-bit sizes.
std::uint64_t crc_of(std::uint64_t crc, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(n));
    bytes = bytes.subspan(n);
  }
  return crc;
}

std::string npy_text_header(const std::string& descr) {
  std::string dictionary = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (), }";
  dictionary.resize(128 - 10 - 1, ' ');
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(dictionary.size() + 1) + '\0' + dictionary + '\n';
}

template <class T>
std::vector<std::byte> narrowed(const std::vector<std::byte>& wide) {
  std::vector<std::byte> result(wide.size() / sizeof(std::int64_t) * sizeof(T));
  for (std::size_t k = 0; k * sizeof(T) < result.size(); ++k) {
    std::int64_t x = 0;
    std::memcpy(&x, wide.data() + k * sizeof x, sizeof x);
    const T y = static_cast<T>(x);
    std::memcpy(result.data() + k * sizeof y, &y, sizeof y);
  }
  return result;
}

template <class T>
void append(std::vector<std::byte>& bytes, T x) {
  const auto view = std::as_bytes(std::span(&x, 1));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

}  // namespace

std::int64_t NpzWriter::Member::data_offset() const {
  return local_offset + kLocalHeaderBytes + static_cast<std::int64_t>(name.size());
}

EntryWriter::Numbers NpzWriter::take(const Entries& entries, Rows rows) {
  const EntryForm form = entries.form();
  row_counts_.assign(static_cast<std::size_t>(std::max<std::int64_t>(rows.last - rows.first, 0)), 0);
  visit_element_type(type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    entries.for_each([&](const std::byte* entry) {
      ++row_counts_[static_cast<std::size_t>(form.coordinate(entry, 0) - rows.first)];
      append(indices_, form.coordinate(entry, 1));
      append(data_, form.value<T>(entry));
    });
  });
  return {entries.count(), rows.first};
}

void NpzWriter::lay_out(std::int64_t entries) {
  wide_ = std::max({entries, shape()[0], shape()[1]}) > std::numeric_limits<std::int32_t>::max();
  const ElementType index = wide_ ? ElementType::kI64 : ElementType::kI32;
  const std::int64_t index_bytes = wide_ ? 8 : 4;
  const std::int64_t two = 2;
  const std::int64_t pointers = shape()[0] + 1;
  members_ = {
      {"indices.npy", npy_header_bytes(index, {&entries, 1}), entries * index_bytes},
      {"indptr.npy", npy_header_bytes(index, {&pointers, 1}), pointers * index_bytes},
      {"format.npy", npy_text_header("|S3") + "csr"},
      {"shape.npy", npy_header_bytes(ElementType::kI64, {&two, 1})},
      {"data.npy", npy_header_bytes(type(), {&entries, 1}), entries * static_cast<std::int64_t>(element_size(type()))}};
  for (const std::int64_t extent : shape())
    members_[3].head.append(reinterpret_cast<const char*>(&extent), sizeof extent);
  std::int64_t offset = 0;
  for (Member& member : members_) {
    member.local_offset = offset;
    offset = member.data_offset() + member.size();
  }
}

EntryWriter::Numbers NpzWriter::write(std::span<const Numbers> all, std::int64_t rank) {
  std::int64_t total = 0;
  std::int64_t before = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (static_cast<std::int64_t>(r) < rank) before += all[r][0];
    total += all[r][0];
  }
  lay_out(total);
  const std::int64_t first_row = all[static_cast<std::size_t>(rank)][1];
  std::vector<std::byte> pointers;
  if (rank == 0) append<std::int64_t>(pointers, 0);
  std::int64_t sum = before;
  for (const std::int64_t count : row_counts_) append(pointers, sum += count);
  const std::int64_t index_bytes = wide_ ? 8 : 4;
  if (!wide_) {
    pointers = narrowed<std::int32_t>(pointers);
    indices_ = narrowed<std::int32_t>(indices_);
  }
  Numbers numbers;
  const auto put = [&](const Member& member, const std::vector<std::byte>& bytes, std::int64_t at) {
    file().write(bytes, member.data_offset() + static_cast<std::int64_t>(member.head.size()) + at);
    numbers.push_back(static_cast<std::int64_t>(crc_of(0, bytes)));
    numbers.push_back(static_cast<std::int64_t>(bytes.size()));
  };
  put(members_[0], indices_, before * index_bytes);
  put(members_[1], pointers, (rank == 0 ? 0 : first_row + 1) * index_bytes);
  put(members_[4], data_, before * static_cast<std::int64_t>(element_size(type())));
  indices_ = {};
  data_ = {};
  return numbers;
}

void NpzWriter::finish(std::span<const Numbers> all) {
  Record directory;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    std::uint64_t crc = crc_of(0, std::as_bytes(std::span(member.head)));
    if (member.bytes > 0) {
      const std::size_t column = m == 0 ? 0 : m == 1 ? 2 : 4;
      for (const Numbers& numbers : all)
        crc = ::crc32_combine(crc, static_cast<std::uint64_t>(numbers[column]), numbers[column + 1]);
    }
    const auto size = static_cast<std::uint64_t>(member.size());
    constexpr std::uint64_t kElsewhere = 0xffffffff;
    const auto described = [&](Record& record) -> Record& {
      record.u16(45).u16(0).u16(0).u16(0).u16(0x21).u32(crc).u32(kElsewhere).u32(kElsewhere);
      return record.u16(member.name.size());
    };
    Record local;
    described(local.u32(0x04034b50)).u16(20);
    local.text(member.name).u16(1).u16(16).u64(size).u64(size).text(member.head);
    file().write(std::as_bytes(std::span(local.bytes)), member.local_offset);
    described(directory.u32(0x02014b50).u16(45)).u16(28).u16(0).u16(0).u16(0).u32(0).u32(kElsewhere);
    directory.text(member.name).u16(1).u16(24).u64(size).u64(size);
    directory.u64(static_cast<std::uint64_t>(member.local_offset));
  }
  const auto start = static_cast<std::uint64_t>(members_.back().data_offset() + members_.back().size());
  const std::uint64_t size = directory.bytes.size();
  const std::uint64_t count = members_.size();
  directory.u32(0x06064b50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count).u64(size).u64(start);
  directory.u32(0x07064b50).u32(0).u64(start + size).u32(1);
  directory.u32(0x06054b50).u16(0).u16(0).u16(0xffff).u16(0xffff).u32(0xffffffff).u32(0xffffffff).u16(0);
  file().write(std::as_bytes(std::span(directory.bytes)), static_cast<std::int64_t>(start));
}

}  // namespace tdsl::rt
