#include "runtime/io/temporaries.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "runtime/check.h"

namespace tdsl::rt {

namespace {

constinit std::array<std::atomic<const char*>, 1024> table{};
static_assert(std::atomic<const char*>::is_always_lock_free);

/// A copy of the name that is never freed: a signal handler may be reading it, even while the process ends. A run
/// opens few files, so what this keeps is small.
const char* keep_name(const std::string& path) {
  static std::mutex mutex;
  static std::deque<std::string>& names = *new std::deque<std::string>();
  const std::scoped_lock lock(mutex);
  return names.emplace_back(path).c_str();
}

}  // namespace

int register_temporary(const std::string& path) {
  const char* name = keep_name(path);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char* expected = nullptr;
    if (table[i].compare_exchange_strong(expected, name)) {
      return static_cast<int>(i);
    }
  }
  throw RunError("too many files are being written at once (" + std::to_string(table.size()) + ")");
}

void forget_temporary(int slot) noexcept {
  if (slot >= 0) {
    table[static_cast<std::size_t>(slot)].store(nullptr);
  }
}

void unlink_temporaries() noexcept {
  for (std::atomic<const char*>& entry : table) {
    if (const char* name = entry.exchange(nullptr)) {
      ::unlink(name);
    }
  }
}

}  // namespace tdsl::rt
