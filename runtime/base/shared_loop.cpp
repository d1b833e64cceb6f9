#include "runtime/base/shared_loop.h"

namespace tdsl::rt::shared_loop {

namespace {

thread_local Scope::Hook share_hook = nullptr;
thread_local void* share_argument = nullptr;

}  // namespace

Scope::Scope(Hook hook, void* argument) {
  share_hook = hook;
  share_argument = argument;
}
Scope::~Scope() { share_hook = nullptr; }

void run(Index count, const Body& body) {
  if (share_hook != nullptr && count > 1) return share_hook(share_argument, count, body);
  for (Index k = 0; k < count; ++k) body(k);
}

}  // namespace tdsl::rt::shared_loop
