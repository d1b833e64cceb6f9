#pragma once

/// Long kernels give the engine a chance to talk: ranks that need our blocks do not wait for a kernel's end.
namespace tdsl::rt::progress {

/// While it lives, tick() on this thread calls the hook now and then. The hook is short, does not throw, and decides
/// itself whether it is time to talk.
class Scope {
 public:
  using Hook = void (*)(void*);
  Scope(Hook hook, void* argument);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// Whether this thread has a hook.
[[nodiscard]] bool active();
/// Called by kernels every few microseconds.
void tick();
/// Calls the hook at once; for places that are milliseconds apart.
void pause();

}  // namespace tdsl::rt::progress
