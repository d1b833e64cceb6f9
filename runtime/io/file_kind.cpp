#include "runtime/io/file_kind.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/check.h"
#include "runtime/io/entries/csv.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/shapes.h"

namespace tdsl::rt {

namespace {

bool has_extension(const std::string& path, std::string_view extension) {
  return path.size() > extension.size() && std::string_view(path).ends_with(extension);
}

}  // namespace

FileKind readable_kind(const std::string& path) {
  if (const auto hdf5 = hdf5_name(path)) {
    if (hdf5->dataset.empty())
      throw RunError("`" + path + "`: a dataset of the file is to be named, as in `" + hdf5->file +
                     ":/NAME` [cannot-read]");
    return FileKind::kHdf5;
  }
  if (csv_name(path)) return FileKind::kCsv;
  if (has_extension(path, ".zarr") || has_extension(path, ".zarr/")) return FileKind::kZarr;
  if (has_extension(path, ".mtx")) return FileKind::kMatrixMarket;
  if (has_extension(path, ".tns")) return FileKind::kFrostt;
  return has_extension(path, ".npz") ? FileKind::kScipyNpz : FileKind::kNpy;
}

FileKind writable_kind(const std::string& path) {
  if (path.empty() || path.back() == '/')
    throw RunError("cannot write `" + path + "`: it names no file [cannot-write]");
  const FileKind kind = readable_kind(path);
  if (const auto csv = csv_name(path); kind == FileKind::kCsv && !csv->column.empty()) {
    throw RunError("cannot write `" + path + "`: single columns can only be read; write `" + csv->file +
                   "` [cannot-write]");
  }
  if (kind == FileKind::kNpy && !has_extension(path, ".npy")) {
    throw RunError("`" + path +
                   "`: the extension says how a file is written, and this one names no format; use .npy, .h5:/NAME, "
                   ".zarr, .mtx, .tns, .npz or .csv [cannot-write]");
  }
  return kind;
}

void require_writable_rank(const std::string& path, std::size_t rank) {
  const FileKind kind = writable_kind(path);
  if (kind == FileKind::kNpy || kind == FileKind::kZarr || kind == FileKind::kHdf5) return;
  if (rank == 0) throw RunError("cannot write `" + path + "`: a scalar has no coordinates; use .npy [cannot-write]");
  if (kind != FileKind::kFrostt && rank != 2 && !(kind == FileKind::kCsv && rank == 1)) {
    throw RunError("cannot write `" + path + "`: " + kind_name(kind) + " files hold " +
                   (kind == FileKind::kCsv ? "vectors and " : "") + "matrices, and this tensor has " +
                   counted(rank, "dimension") + "; use .tns or .npy [cannot-write]");
  }
}

void require_series_file(const std::string& path, std::size_t rank) {
  const FileKind kind = writable_kind(path);
  if (kind == FileKind::kNpy || kind == FileKind::kZarr || kind == FileKind::kHdf5) return;
  if (kind != FileKind::kCsv) {
    throw RunError("cannot write `" + path + "`: " + kind_name(kind) +
                   " files take no series of records; use .npy, .h5:/NAME, .zarr or .csv [cannot-write]");
  }
  if (rank <= 1) return;
  throw RunError("cannot write `" + path +
                 "`: a line of a .csv file holds a scalar or a vector, and a record of this " + "series has " +
                 counted(rank, "dimension") + "; use .npy or .zarr [cannot-write]");
}

bool holds_entries(const std::string& path) {
  if (hdf5_name(path)) return false;
  return csv_name(path) || has_extension(path, ".mtx") || has_extension(path, ".tns") || has_extension(path, ".npz");
}

std::string resolve_target(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? std::string(resolved.get()) : path;
}

bool lies_in_rows(const std::string& path) {
  return hdf5_name(path).has_value() || readable_kind(path) == FileKind::kNpy;
}

std::int64_t most_record_in_rows(const std::string& path) {
  if (!lies_in_rows(path)) return -1;
  return hdf5_name(path) ? kMostRecordChunkBytes : std::numeric_limits<std::int64_t>::max();
}

std::string file_behind(const std::string& path) {
  if (const auto hdf5 = hdf5_name(path)) return hdf5->file;
  const auto csv = csv_name(path);
  return csv ? csv->file : path;
}

std::string kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kMatrixMarket: return ".mtx";
    case FileKind::kFrostt: return ".tns";
    case FileKind::kScipyNpz: return ".npz";
    case FileKind::kCsv: return ".csv";
    case FileKind::kZarr: return ".zarr";
    case FileKind::kHdf5: return ".h5";
    case FileKind::kNpy: break;
  }
  return ".npy";
}

bool is_named_npy(const std::string& path) { return has_extension(path, ".npy"); }

std::string file_kind_name(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a directory";
    case S_IFIFO: return "a pipe (FIFO)";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    case S_IFSOCK: return "a socket";
    default: return "a regular file";
  }
}

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
