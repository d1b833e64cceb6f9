#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/tensor/box_rows.h"

namespace tdsl::rt {

namespace {

constexpr std::int64_t kWriteBufferBytes = std::int64_t{4} << 20;
constexpr std::int64_t kDirectWriteBytes = std::int64_t{64} << 10;

/// Packs adjacent rows and writes each group with one call.
template <class T>
class RowWriter {
 public:
  RowWriter(int fd, std::int64_t data_offset, const std::string& path, const T* source)
      : fd_(fd), data_offset_(data_offset), path_(path), source_(source) {}

  void add(FileRow row) {
    constexpr std::int64_t size = sizeof(T);
    if (row.memory_stride == 1 && row.count * size >= kDirectWriteBytes) {
      flush();
      write(source_ + row.memory_offset, row.file_index, row.count);
      return;
    }
    if (packed_ > 0 && row.file_index != first_ + packed_) { flush(); }
    for (std::int64_t done = 0; done < row.count;) {
      if (packed_ == kCapacity) { flush(); }
      if (packed_ == 0) { first_ = row.file_index + done; }
      const std::int64_t n = std::min(row.count - done, kCapacity - packed_);
      pack(row, done, n);
      done += n;
    }
  }

  [[nodiscard]] const WriteCount& written() const { return written_; }

  void flush() {
    if (packed_ > 0) {
      write(buffer_.get(), first_, packed_);
      packed_ = 0;
    }
  }

 private:
  static constexpr std::int64_t kCapacity = kWriteBufferBytes / static_cast<std::int64_t>(sizeof(T));

  void pack(const FileRow& row, std::int64_t done, std::int64_t n) {
    if (!buffer_) { buffer_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(kCapacity)); }
    const T* from = source_ + row.memory_offset + done * row.memory_stride;
    T* to = buffer_.get() + packed_;
    for (std::int64_t i = 0; i < n; ++i) { to[i] = from[i * row.memory_stride]; }
    packed_ += n;
  }

  void write(const T* data, std::int64_t file_index, std::int64_t count) {
    written_.calls += 1;
    written_.bytes += count * static_cast<std::int64_t>(sizeof(T));
    write_at(fd_, std::as_bytes(std::span(data, static_cast<std::size_t>(count))),
             data_offset_ + file_index * static_cast<std::int64_t>(sizeof(T)), path_);
  }

  int fd_;
  std::int64_t data_offset_;
  const std::string& path_;
  const T* source_;
  std::unique_ptr<T[]> buffer_;
  std::int64_t first_ = 0;   // file index of the first packed element
  std::int64_t packed_ = 0;  // elements in the buffer
  WriteCount written_;
};

}  // namespace

NpyWriter NpyWriter::create(const std::string& path, ElementType type, std::span<const std::int64_t> shape,
                            Unfinished unfinished) {
  TDSL_CHECK(writable_kind(path) == FileKind::kNpy, "the extension says how a file is written");
  NpyWriter w(OutputFile::create(path, unfinished), type, {shape.begin(), shape.end()});
  const std::string header = npy_header_bytes(type, shape);
  w.data_offset_ = static_cast<std::int64_t>(header.size());
  std::int64_t bytes = static_cast<std::int64_t>(element_size(type));
  for (const std::int64_t extent : shape) {
    TDSL_CHECK(extent >= 0 && !__builtin_mul_overflow(bytes, extent, &bytes), "an output has a size");
  }
  w.file_.reserve(w.data_offset_ + bytes);
  w.file_.write(std::as_bytes(std::span(header)), 0);
  return w;
}

std::string NpyWriter::token() const {
  std::string token = file_.token();
  const auto put = [&token](std::string_view part) { token.append(part).push_back('\0'); };
  put(element_name(type_));
  put(std::to_string(data_offset_));
  for (const std::int64_t extent : shape_) { put(std::to_string(extent)); }
  return token;
}

NpyWriter NpyWriter::open(std::string_view token) {
  OutputFile file = OutputFile::open(token);
  const auto type = element_type_named(take_token_part(token));
  TDSL_CHECK(type.has_value(), "a token made by NpyWriter::token");
  NpyWriter w(std::move(file), *type, {});
  w.data_offset_ = std::stoll(take_token_part(token));
  while (!token.empty()) { w.shape_.push_back(std::stoll(take_token_part(token))); }
  return w;
}

WriteCount write_dense(int fd, ExtentSpan shape, std::int64_t offset, const std::string& path, ElementType from,
                       ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) {
  const BoxRows rows(shape, false, lo, hi, strides);
  return visit_element_type(from, [&](auto tag) {
    using T = typename decltype(tag)::type;
    RowWriter<T> writer(fd, offset, path, static_cast<const T*>(src));
    rows.for_each([&](const FileRow& row) { writer.add(row); });
    writer.flush();
    return writer.written();
  });
}

void NpyWriter::write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const {
  TDSL_CHECK(file_.fd() >= 0 && type_ == from, "an open file of the written type");
  count(write_dense(file_.fd(), shape_, data_offset_, file_.path(), from, lo, hi, src, strides));
}

}  // namespace tdsl::rt
