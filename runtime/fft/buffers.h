#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace tdsl::rt::fourier {

/// Work space of this thread, by purpose.
enum class Use : unsigned { kLanes, kMatrix, kLine, kConvolution };

namespace detail {

constexpr std::align_val_t kAlignment{64};
/// Larger buffers are not kept.
constexpr std::size_t kKeptBytes = std::size_t{32} << 20U;

struct Freed {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlignment); }
};
struct Buffer {
  std::unique_ptr<std::byte[], Freed> bytes;
  std::size_t size = 0;
};

inline Buffer& buffer_of(Use use) {
  thread_local std::array<Buffer, 4> buffers;
  return buffers[static_cast<std::size_t>(use)];
}

}  // namespace detail

/// `parts` uninitialised elements; of each use there is one buffer at a time.
template <class T>
class Workspace {
 public:
  Workspace(Use use, std::size_t parts) : buffer_(detail::buffer_of(use)) {
    const std::size_t bytes = parts * sizeof(T);
    if (buffer_.size >= bytes) return;
    buffer_.bytes.reset();
    buffer_.size = 0;
    buffer_.bytes.reset(static_cast<std::byte*>(::operator new[](bytes, detail::kAlignment)));
    buffer_.size = bytes;
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    if (buffer_.size <= detail::kKeptBytes) return;
    buffer_.bytes.reset();
    buffer_.size = 0;
  }

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(buffer_.bytes.get()); }

 private:
  detail::Buffer& buffer_;
};

}  // namespace tdsl::rt::fourier
