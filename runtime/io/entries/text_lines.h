#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/io/open_file.h"

namespace tdsl::rt {

/// Throws `path:LINE: message` for the line that contains byte `offset` of the file. Only this function counts lines.
[[noreturn]] void fail_in_line(const OpenFile& file, std::int64_t offset, const std::string& message);

/// The lines of a text file that begin in the byte range [first, last), without terminators (`\n`, `\r\n`); a line that
/// `first` is inside of belongs to the previous range. Ranges that cover a file give each line exactly once. Memory:
/// one buffer.
class TextLines {
 public:
  /// Longer lines are an error, which bounds memory; no supported format has them.
  static constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;

  TextLines(const OpenFile& file, std::int64_t first, std::int64_t last, std::int64_t buffer_bytes = kBufferBytes);

  /// The next line, valid until the next call; false at the end of the range. The byte after a line is readable and
  /// never part of a number, so parsers that stop at the first unexpected character need no end pointer.
  [[nodiscard]] bool next(std::string_view& line);
  /// Offset of the line last returned by `next`.
  [[nodiscard]] std::int64_t offset() const { return line_offset_; }
  /// Offset of the following line.
  [[nodiscard]] std::int64_t next_offset() const { return buffer_offset_ + (at_ - buffer_.get()); }
  [[noreturn]] void fail(const std::string& message) const { fail_in_line(file_, line_offset_, message); }

 private:
  void refill();

  const OpenFile& file_;
  std::int64_t last_;
  std::int64_t buffer_bytes_;
  std::unique_ptr<char[]> buffer_;
  std::int64_t buffer_offset_ = 0;  ///< file offset of the buffer's first byte
  char* at_ = nullptr;              ///< first byte of the next line
  char* end_ = nullptr;             ///< end of the bytes read
  std::int64_t line_offset_ = 0;
};

}  // namespace tdsl::rt
