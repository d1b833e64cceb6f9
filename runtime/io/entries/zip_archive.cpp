#include "runtime/io/entries/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"

namespace tdsl::rt {

namespace {

constexpr std::int64_t kBufferBytes = std::int64_t{1} << 18;
constexpr std::int64_t kMostDirectoryBytes = std::int64_t{1} << 20;

[[noreturn]] void fail_archive(const OpenFile& file, const std::string& what) {
  throw RunError("`" + file.path() + "` is not a sound .npz file: " + what + " [bad-file]");
}

std::string bytes_at(const OpenFile& file, std::int64_t offset, std::int64_t count) {
  if (offset < 0 || count < 0 || offset > file.bytes() - count)
    fail_archive(file, "its directory points outside of the file");
  std::string bytes(static_cast<std::size_t>(count), '\0');
  read_at(file.fd(), std::as_writable_bytes(std::span(bytes)), offset, file.path());
  return bytes;
}

std::uint64_t number(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t x = 0;
  for (int k = size; k-- > 0;) x = x << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(k)]);
  return x;
}

/// Reads a size or offset, which must fit the file's arithmetic.
std::int64_t size_in(const OpenFile& file, std::string_view bytes, std::size_t at, int size) {
  const std::uint64_t x = number(bytes, at, size);
  if (x > std::uint64_t{1} << 60) fail_archive(file, "a size in its directory is too large");
  return static_cast<std::int64_t>(x);
}

struct Directory {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

Directory find_directory(const OpenFile& file) {
  constexpr std::int64_t kEnd = 22;
  const std::int64_t tail_bytes = std::min<std::int64_t>(file.bytes(), kEnd + 0xffff);
  const std::string tail = bytes_at(file, file.bytes() - tail_bytes, tail_bytes);
  const std::size_t end = tail.rfind(std::string("PK\x05\x06", 4));
  if (end == std::string::npos || tail.size() - end < static_cast<std::size_t>(kEnd))
    fail_archive(file, "it has no zip directory");
  Directory directory{size_in(file, tail, end + 16, 4), size_in(file, tail, end + 12, 4)};
  if (end >= 20 && tail.compare(end - 20, 4, "PK\x06\x07", 4) == 0) {
    const std::string wide = bytes_at(file, size_in(file, tail, end - 20 + 8, 8), 56);
    if (wide.compare(0, 4, "PK\x06\x06", 4) != 0) fail_archive(file, "it has no zip directory of 64 bits");
    directory = {size_in(file, wide, 48, 8), size_in(file, wide, 40, 8)};
  }
  if (directory.bytes > kMostDirectoryBytes) fail_archive(file, "its directory is too large");
  return directory;
}

/// Sizes that exceed 32 bits are in an extra field, in a fixed order.
void read_wide_sizes(const OpenFile& file, std::string_view extra, ZipMember& member) {
  while (extra.size() >= 4) {
    const std::size_t size = number(extra, 2, 2);
    if (size > extra.size() - 4) fail_archive(file, "an extra field is damaged");
    const std::string_view field = extra.substr(4, size);
    std::size_t at = 0;
    if (number(extra, 0, 2) == 1) {
      for (std::int64_t* const value : {&member.bytes, &member.packed, &member.local_offset}) {
        if (*value != 0xffffffff || at + 8 > field.size()) continue;
        *value = size_in(file, field, at, 8);
        at += 8;
      }
    }
    extra.remove_prefix(4 + size);
  }
}

}  // namespace

std::vector<ZipMember> zip_members(const OpenFile& file) {
  const Directory directory = find_directory(file);
  const std::string bytes = bytes_at(file, directory.offset, directory.bytes);
  std::vector<ZipMember> members;
  std::size_t at = 0;
  while (bytes.size() - at >= 46 && bytes.compare(at, 4, "PK\x01\x02", 4) == 0) {
    const std::size_t name = number(bytes, at + 28, 2);
    const std::size_t extra = number(bytes, at + 30, 2);
    const std::size_t comment = number(bytes, at + 32, 2);
    if (name + extra + comment > bytes.size() - at - 46) fail_archive(file, "its directory is damaged");
    if ((number(bytes, at + 8, 2) & 1) != 0) fail_archive(file, "it is encrypted");
    ZipMember member;
    member.name = bytes.substr(at + 46, name);
    member.method = static_cast<int>(number(bytes, at + 10, 2));
    member.crc = static_cast<std::uint32_t>(number(bytes, at + 16, 4));
    member.packed = size_in(file, bytes, at + 20, 4);
    member.bytes = size_in(file, bytes, at + 24, 4);
    member.local_offset = size_in(file, bytes, at + 42, 4);
    read_wide_sizes(file, std::string_view(bytes).substr(at + 46 + name, extra), member);
    members.push_back(std::move(member));
    at += 46 + name + extra + comment;
  }
  return members;
}

ZipReader::ZipReader(const OpenFile& file, const ZipMember& member)
    : file_(file), member_(member), packed_left_(member.packed), left_(member.bytes) {
  const std::string local = bytes_at(file, member.local_offset, 30);
  if (local.compare(0, 4, "PK\x03\x04", 4) != 0) fail("its header is damaged");
  at_ = member.local_offset + 30 + static_cast<std::int64_t>(number(local, 26, 2) + number(local, 28, 2));
  if (at_ > file.bytes() - packed_left_) fail("it reaches beyond the end of the file");
  if (member.method == 0) {
    if (member.packed != member.bytes) fail("its sizes differ");
    return;
  }
  if (member.method != 8)
    fail("it is compressed by method " + std::to_string(member.method) + "; stored and deflated members can be read");
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(kBufferBytes));
  stream_ = std::make_unique<z_stream_s>();
  if (::inflateInit2(stream_.get(), -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

ZipReader::~ZipReader() {
  if (stream_) ::inflateEnd(stream_.get());
}

void ZipReader::fail(const std::string& message) const {
  throw RunError("`" + file_.path() + "`: " + member_.name + ": " + message + " [bad-file]");
}

void ZipReader::inflate_into(std::span<std::byte> bytes) {
  z_stream_s& s = *stream_;
  s.next_out = reinterpret_cast<Bytef*>(bytes.data());
  s.avail_out = static_cast<uInt>(bytes.size());
  while (s.avail_out > 0) {
    if (s.avail_in == 0 && packed_left_ > 0) {
      const std::int64_t n = std::min(packed_left_, kBufferBytes);
      read_at(file_.fd(), {buffer_.get(), static_cast<std::size_t>(n)}, at_, file_.path());
      at_ += n;
      packed_left_ -= n;
      s.next_in = reinterpret_cast<Bytef*>(buffer_.get());
      s.avail_in = static_cast<uInt>(n);
    }
    const uInt before = s.avail_out;
    const int result = ::inflate(&s, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) fail("its data are damaged");
    if (s.avail_out == before && (result != Z_OK || (s.avail_in == 0 && packed_left_ == 0)))
      fail("its data end too early");
  }
}

void ZipReader::read(std::span<std::byte> bytes) {
  if (static_cast<std::int64_t>(bytes.size()) > left_)
    fail("it has " + std::to_string(member_.bytes) + " bytes, fewer than are needed");
  while (!bytes.empty()) {
    const std::span<std::byte> piece =
        bytes.first(std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(kBufferBytes)));
    if (stream_) {
      inflate_into(piece);
    } else {
      read_at(file_.fd(), piece, at_, file_.path());
      at_ += static_cast<std::int64_t>(piece.size());
    }
    crc_ = static_cast<std::uint32_t>(
        ::crc32(crc_, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size())));
    left_ -= static_cast<std::int64_t>(piece.size());
    summed_ += static_cast<std::int64_t>(piece.size());
    bytes = bytes.subspan(piece.size());
  }
}

void ZipReader::check_sum() const {
  if (summed_ == member_.bytes && crc_ != member_.crc) fail("its checksum is wrong: the file is damaged");
}

void ZipReader::skip(std::int64_t bytes) {
  if (bytes > left_) fail("it has " + std::to_string(member_.bytes) + " bytes, fewer than are needed");
  if (!stream_) {
    if (bytes > 0) crc_ = 0, summed_ = 0;
    at_ += bytes;
    left_ -= bytes;
    return;
  }
  std::vector<std::byte> nowhere(static_cast<std::size_t>(std::min(bytes, kBufferBytes)));
  while (bytes > 0) {
    const std::span<std::byte> piece =
        std::span(nowhere).first(static_cast<std::size_t>(std::min(bytes, kBufferBytes)));
    read(piece);
    bytes -= static_cast<std::int64_t>(piece.size());
  }
}

}  // namespace tdsl::rt
