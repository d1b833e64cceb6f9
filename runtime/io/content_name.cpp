#include "runtime/io/content_name.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "runtime/io/file_bytes.h"

namespace tdsl::rt {

namespace {

struct Mark {
  std::string_view begin;
  std::string_view what;
  std::optional<FileKind> kind = std::nullopt;  ///< the kind whose files all begin with these bytes
};

using namespace std::string_view_literals;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf"sv;

constexpr Mark kMarks[] = {
    {"\x93NUMPY"sv, "a NumPy array (.npy)", FileKind::kNpy},
    {"%%MatrixMarket"sv, "a Matrix Market file (.mtx)", FileKind::kMatrixMarket},
    {"PK\x03\x04"sv, "a zip archive (.npz)", FileKind::kScipyNpz},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file (.h5)", FileKind::kHdf5},
    {"MATLAB 5.0 MAT-file"sv, "a MATLAB file, which cannot be read"},
    {"\x1f\x8b"sv, "compressed with gzip"},
    {"BZh"sv, "compressed with bzip2"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed with xz"},
    {"\x28\xb5\x2f\xfd"sv, "compressed with Zstandard"},
    {"\xff\xfe"sv, "text in UTF-16; write it as ASCII or UTF-8"},
    {"\xfe\xff"sv, "text in UTF-16; write it as ASCII or UTF-8"},
    {kByteOrderMark, "text with a byte order mark; write it without one"},
};

bool is_text(FileKind kind) {
  return kind == FileKind::kMatrixMarket || kind == FileKind::kFrostt || kind == FileKind::kCsv;
}

/// At most 64 bytes.
std::string beginning_of(const OpenFile& file) {
  std::string bytes(static_cast<std::size_t>(std::clamp<std::int64_t>(file.bytes(), 0, 64)), '\0');
  read_at(file.fd(), std::as_writable_bytes(std::span(bytes)), 0, file.path());
  return bytes;
}

}  // namespace

bool begins_as_npy(const OpenFile& file) { return beginning_of(file).starts_with("\x93NUMPY"); }

std::optional<std::string> other_content(const OpenFile& file, FileKind expected) {
  const std::string text = beginning_of(file);
  for (const Mark& mark : kMarks) {
    if (!text.starts_with(mark.begin)) continue;
    if (mark.kind == expected || (mark.begin == kByteOrderMark && expected == FileKind::kCsv)) return std::nullopt;
    return std::string(mark.what);
  }
  if (is_text(expected) && text.find('\0') != std::string::npos) return "binary, not a text";
  return std::nullopt;
}

}  // namespace tdsl::rt
