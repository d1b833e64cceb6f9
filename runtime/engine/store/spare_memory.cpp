#include "runtime/engine/store/spare_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tdsl::rt {

namespace {

/// Large enough that malloc maps it and returns it to the system.
constexpr std::size_t kSpareBytes = 1 << 20;

std::atomic<void*> spare = nullptr;

}  // namespace

void spend_spare_memory() noexcept { std::free(spare.exchange(nullptr)); }

void keep_spare_memory() {
  spend_spare_memory();
  spare = std::malloc(kSpareBytes);
  std::set_new_handler([] {
    spend_spare_memory();
    throw std::bad_alloc();
  });
}

}  // namespace tdsl::rt
