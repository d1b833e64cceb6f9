#pragma once

#include <cstdint>
#include <functional>

/// Loops of one kernel whose iterations threads without a task may run: a task that nothing else can be divided into
/// uses the whole team. Results do not depend on which thread runs an iteration.
namespace tdsl::rt::shared_loop {

using Index = std::int64_t;
using Body = std::function<void(Index)>;

/// During its lifetime, run() on this thread calls the hook, which runs all iterations before it returns.
class Scope {
 public:
  using Hook = void (*)(void*, Index count, const Body& body);
  Scope(Hook hook, void* argument);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// Calls body(k) for all k from 0 to `count` - 1, which are independent, in any order, on this thread and others.
/// Rethrows an exception of the body.
void run(Index count, const Body& body);

}  // namespace tdsl::rt::shared_loop
