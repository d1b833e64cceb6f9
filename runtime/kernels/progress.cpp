#include "runtime/kernels/progress.h"

namespace tdsl::rt::progress {

namespace {

constexpr unsigned kTicksPerCall = 32;

thread_local Scope::Hook hook = nullptr;
thread_local void* argument = nullptr;
thread_local unsigned ticks = 0;

}  // namespace

Scope::Scope(Hook h, void* a) {
  hook = h;
  argument = a;
}
Scope::~Scope() { hook = nullptr; }

bool active() { return hook != nullptr; }

void tick() {
  if (hook != nullptr && ++ticks % kTicksPerCall == 0) hook(argument);
}

void pause() {
  if (hook != nullptr) hook(argument);
}

}  // namespace tdsl::rt::progress
