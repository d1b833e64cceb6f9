#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/open_file.h"
#include "runtime/io/output_file.h"
#include "runtime/types.h"

/// Dense tensors that any number of threads and ranks can read and write box by box: `.npy` files, datasets of HDF5
/// files, directories of tiles, arrays of a calling program. Free of MPI.
namespace tdsl::rt {

using Extents = std::vector<std::int64_t>;
using ExtentSpan = std::span<const std::int64_t>;

/// A tensor open for reading. Immutable after construction.
class TensorReader {
 public:
  TensorReader() = default;
  TensorReader(const TensorReader&) = delete;
  TensorReader& operator=(const TensorReader&) = delete;
  virtual ~TensorReader() = default;

  [[nodiscard]] virtual const std::string& path() const = 0;
  /// At the time the header was read.
  [[nodiscard]] virtual const FileIdentity& identity() const = 0;
  /// Empty for a scalar.
  [[nodiscard]] virtual const Extents& shape() const = 0;
  /// The smallest TDSL type that holds all values in the file (f64 for u64).
  [[nodiscard]] virtual ElementType type() const = 0;
  [[nodiscard]] virtual bool widens_to(ElementType to) const = 0;
  /// Throws an error that names both types unless `widens_to(to)`. `name`: the program's input.
  virtual void require_widening(ElementType to, std::string_view name) const = 0;

  /// Reads the half-open box [lo, hi) into `dst`: element lo + x is stored at `dst[sum(x[d] * strides[d])]`. `strides`
  /// are in elements, in any order. Requires widens_to(element_type_of<T>) and 0 <= lo <= hi <= shape. Thread-safe.
  template <Element T>
  void read_box(ExtentSpan lo, ExtentSpan hi, T* dst, ExtentSpan strides) const {
    read(element_type_of<T>, lo, hi, dst, strides);
  }

 protected:
  TensorReader(TensorReader&&) = default;
  TensorReader& operator=(TensorReader&&) = default;
  /// `dst` points to elements of type `to`.
  virtual void read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const = 0;
};

/// System calls and bytes that a process has written to a tensor.
struct WriteCount {
  std::int64_t calls = 0, bytes = 0;
};

/// A tensor written by all ranks. It gets its final name when rank 0 commits it, so a failed run leaves an existing
/// target untouched and no partial one. Order of calls:
///
///     rank 0: w = create_tensor(path, type, shape, …)     others: w = open_tensor(token broadcast by rank 0)
///     all:    w->write_box(...) any number of times; w->sync()
///     (barrier)
///     rank 0: w->commit()                                 others: w->release()
class TensorWriter {
 public:
  TensorWriter() = default;
  TensorWriter(const TensorWriter&) = delete;
  TensorWriter& operator=(const TensorWriter&) = delete;
  virtual ~TensorWriter() = default;

  /// The bytes another rank needs for `open_tensor`, to be broadcast.
  [[nodiscard]] virtual std::string token() const = 0;
  [[nodiscard]] virtual ElementType type() const = 0;
  [[nodiscard]] virtual const Extents& shape() const = 0;

  /// Writes the half-open box [lo, hi) from `src` (strides in elements, as in TensorReader::read_box). T must be the
  /// tensor's type. Thread-safe; boxes written concurrently must not overlap.
  template <Element T>
  void write_box(ExtentSpan lo, ExtentSpan hi, const T* src, ExtentSpan strides) const {
    write(element_type_of<T>, lo, hi, src, strides);
  }
  /// Flushes this process's writes to disk; reports delayed write errors.
  virtual void sync() const = 0;
  /// Gives the tensor its final name. Creator only; all ranks must have synced.
  virtual void commit() = 0;
  /// For the other ranks, after the commit.
  virtual void release() noexcept = 0;
  /// By this process so far. Zero if no file is written.
  [[nodiscard]] WriteCount written() const { return {count_->calls.load(), count_->bytes.load()}; }

 protected:
  TensorWriter(TensorWriter&&) = default;
  TensorWriter& operator=(TensorWriter&&) = default;
  void count(const WriteCount& more) const {
    count_->calls += more.calls;
    count_->bytes += more.bytes;
  }
  virtual void write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const = 0;

 private:
  struct Count {
    std::atomic<std::int64_t> calls = 0, bytes = 0;
  };
  std::unique_ptr<Count> count_ = std::make_unique<Count>();
};

/// A writer in the format given by the name. Detects targets that cannot be written.
[[nodiscard]] std::shared_ptr<TensorWriter> create_tensor(const std::string& path, ElementType type, ExtentSpan shape,
                                                          Unfinished unfinished);
/// Opens the same tensor on another rank.
[[nodiscard]] std::shared_ptr<TensorWriter> open_tensor(std::string_view token);

}  // namespace tdsl::rt
