#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/io/open_file.h"

struct z_stream_s;

namespace tdsl::rt {

/// A member of a zip archive, stored or deflated.
struct ZipMember {
  std::string name;
  int method = 0;
  std::uint32_t crc = 0;
  std::int64_t packed = 0;  ///< compressed size
  std::int64_t bytes = 0;   ///< uncompressed size
  std::int64_t local_offset = 0;
};

/// The directory of an archive, including 64-bit sizes. Throws a RunError that names the file if it is damaged.
[[nodiscard]] std::vector<ZipMember> zip_members(const OpenFile& file);

/// Reads a member sequentially. Memory: two buffers, independent of sizes stated in the archive.
class ZipReader {
 public:
  ZipReader(const OpenFile& file, const ZipMember& member);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  /// Bytes not read yet.
  [[nodiscard]] std::int64_t left() const { return left_; }
  /// Fills `bytes`; a shorter member is an error.
  void read(std::span<std::byte> bytes);
  /// Skips bytes; does not read them if the member is stored. Restarts the checksum after them.
  void skip(std::int64_t bytes);
  /// Throws if the whole contents were read and their checksum differs from the directory's.
  void check_sum() const;
  /// Checksum of the bytes read since the beginning or the last skip.
  [[nodiscard]] std::uint32_t sum() const { return crc_; }
  [[nodiscard]] std::int64_t summed_bytes() const { return summed_; }
  template <class T>
  [[nodiscard]] T take() {
    T x;
    read(std::as_writable_bytes(std::span(&x, 1)));
    return x;
  }
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void inflate_into(std::span<std::byte> bytes);

  const OpenFile& file_;
  ZipMember member_;
  std::int64_t at_ = 0;  ///< archive offset of the next packed byte
  std::int64_t packed_left_ = 0;
  std::int64_t left_ = 0;
  std::uint32_t crc_ = 0;
  std::int64_t summed_ = 0;
  std::unique_ptr<z_stream_s> stream_;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace tdsl::rt
