#include "runtime/engine/store.h"

#include <cstdlib>
#include <string>

#include "runtime/app/number_format.h"
#include "runtime/check.h"

namespace tdsl::rt {

namespace {

constexpr plan::Index kAlignment = 64;

void raise_to(std::atomic<plan::Index>& peak, plan::Index value) {
  plan::Index seen = peak.load();
  while (seen < value && !peak.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

Buffer::Buffer(Store& store, plan::Index bytes) : store_(store), bytes_(bytes) {
  const plan::Index rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(rounded)));
  if (data_ == nullptr) {
    throw RunError("out of memory: a block of " + format_bytes(bytes) + " could not be allocated; this rank holds " +
                   format_bytes(store.live_bytes()) + " in blocks");
  }
  store_.add(bytes_);
}

Buffer::~Buffer() {
  std::free(data_);
  store_.remove(bytes_);
}

BufferRef Store::allocate(plan::Index bytes) { return std::make_shared<Buffer>(*this, bytes); }

void Store::add(plan::Index bytes) {
  raise_to(peak_bytes_, live_bytes_ += bytes);
  raise_to(peak_buffers_, ++live_buffers_);
}

void Store::remove(plan::Index bytes) {
  live_bytes_ -= bytes;
  --live_buffers_;
}

}  // namespace tdsl::rt
