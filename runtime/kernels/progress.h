#pragma once

/// Long kernels let the engine communicate, so that ranks that need this rank's blocks do not wait for a kernel to end.
namespace tdsl::rt::progress {

/// During its lifetime, tick() on this thread calls the hook occasionally. The hook is short, does not throw, and
/// decides itself whether to communicate.
class Scope {
 public:
  using Hook = void (*)(void*);
  Scope(Hook hook, void* argument);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// True if this thread has a hook.
[[nodiscard]] bool active();
/// Called by kernels every few microseconds.
void tick();
/// Calls the hook at once; for call sites milliseconds apart.
void pause();

}  // namespace tdsl::rt::progress
