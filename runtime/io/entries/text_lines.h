#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/io/open_file.h"

namespace tdsl::rt {

/// Throws `path:LINE: message` for the line that byte `offset` of the file is in. Lines are counted only here.
[[noreturn]] void fail_in_line(const OpenFile& file, std::int64_t offset, const std::string& message);

/// The lines of a text file that begin in the byte range [first, last), without their ends (`\n`, `\r\n`); `first` must
/// be the beginning of a line or lie behind one. Ranges that cover a file give each of its lines once. Memory is one
/// buffer.
class TextLines {
 public:
  /// Longer lines are an error: nothing that we read has them, and memory has a bound.
  static constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;

  TextLines(const OpenFile& file, std::int64_t first, std::int64_t last, std::int64_t buffer_bytes = kBufferBytes);

  /// The next line, which stays until the next call; false at the end of the range. The byte behind a line can be read,
  /// and is no part of a number: what parses up to a character that does not fit needs no end.
  [[nodiscard]] bool next(std::string_view& line);
  /// Of the line that `next` gave last: where it begins.
  [[nodiscard]] std::int64_t offset() const { return line_offset_; }
  /// Where the line after it begins.
  [[nodiscard]] std::int64_t next_offset() const { return buffer_offset_ + (at_ - buffer_.get()); }
  [[noreturn]] void fail(const std::string& message) const { fail_in_line(file_, line_offset_, message); }

 private:
  void refill();

  const OpenFile& file_;
  std::int64_t last_;
  std::int64_t buffer_bytes_;
  std::unique_ptr<char[]> buffer_;
  std::int64_t buffer_offset_ = 0;  ///< of the buffer's first byte in the file
  char* at_ = nullptr;              ///< the next line's first byte
  char* end_ = nullptr;             ///< of what was read
  std::int64_t line_offset_ = 0;
};

}  // namespace tdsl::rt
