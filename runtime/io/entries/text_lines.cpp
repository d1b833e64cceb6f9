#include "runtime/io/entries/text_lines.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"

namespace tdsl::rt {

void fail_in_line(const OpenFile& file, std::int64_t offset, const std::string& message) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  std::vector<char> piece(static_cast<std::size_t>(std::min(kPiece, std::max<std::int64_t>(offset, 1))));
  std::int64_t line = 1;
  for (std::int64_t at = 0; at < offset; at += kPiece) {
    const std::span<char> bytes = std::span(piece).first(static_cast<std::size_t>(std::min(kPiece, offset - at)));
    read_at(file.fd(), std::as_writable_bytes(bytes), at, file.path());
    line += std::count(bytes.begin(), bytes.end(), '\n');
  }
  throw RunError(file.path() + ":" + std::to_string(line) + ": " + message + " [bad-file]");
}

TextLines::TextLines(const OpenFile& file, std::int64_t first, std::int64_t last, std::int64_t buffer_bytes)
    : file_(file),
      last_(std::min(last, file.bytes())),
      buffer_bytes_(buffer_bytes),
      buffer_(std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(buffer_bytes) + 1)) {
  // A line that begins before the range belongs to the previous range, even if it ends at the byte just before ours.
  buffer_offset_ = std::max<std::int64_t>(first - 1, 0);
  at_ = end_ = buffer_.get();
  line_offset_ = buffer_offset_;
  if (first == 0 || first >= last_) {
    if (first >= last_) last_ = buffer_offset_;
    return;
  }
  std::string_view rest;
  (void)next(rest);
}

void TextLines::refill() {
  const std::int64_t kept = end_ - at_;
  if (kept == buffer_bytes_)
    fail_in_line(file_, next_offset(), "a line of more than " + std::to_string(buffer_bytes_) + " bytes");
  buffer_offset_ = next_offset();
  std::memmove(buffer_.get(), at_, static_cast<std::size_t>(kept));
  at_ = buffer_.get();
  end_ = at_ + kept;
  const std::int64_t want = std::min(buffer_bytes_ - kept, file_.bytes() - buffer_offset_ - kept);
  read_at(file_.fd(), std::as_writable_bytes(std::span(end_, static_cast<std::size_t>(want))), buffer_offset_ + kept,
          file_.path());
  end_ += want;
}

bool TextLines::next(std::string_view& line) {
  line_offset_ = next_offset();
  if (line_offset_ >= last_) return false;
  char* newline = nullptr;
  std::int64_t searched = 0;
  while (newline == nullptr) {
    newline = static_cast<char*>(std::memchr(at_ + searched, '\n', static_cast<std::size_t>(end_ - at_ - searched)));
    if (newline != nullptr) break;
    searched = end_ - at_;
    if (buffer_offset_ + (end_ - buffer_.get()) < file_.bytes()) {
      refill();
    } else {  // the last line has no terminator
      newline = end_;
      *newline = '\n';
    }
  }
  line = {at_, static_cast<std::size_t>(newline - at_)};
  at_ = std::min(newline + 1, end_);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return true;
}

}  // namespace tdsl::rt
