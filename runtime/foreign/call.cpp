#include "runtime/foreign/call.h"

#include <link.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tdsl::rt {

namespace {

constexpr std::size_t kSignalStackBytes = std::size_t{64} << 10;

struct CaughtSignal {
  int number;
  const char* text;
  struct sigaction before {};
};

CaughtSignal caught[] = {{SIGSEGV, "SIGSEGV (invalid memory access, or the stack is full)"},
                         {SIGBUS, "SIGBUS (invalid memory access)"},
                         {SIGFPE, "SIGFPE (integer division by zero, or its result does not fit)"},
                         {SIGILL, "SIGILL (illegal instruction)"},
                         {SIGTRAP, "SIGTRAP (trap)"},
                         {SIGABRT, "SIGABRT (abort)"}};

struct ForeignCall {
  const ForeignCaller* caller;
  sigjmp_buf back;
  volatile std::sig_atomic_t signal = 0;
};

thread_local ForeignCall* volatile current = nullptr;
std::atomic<bool> catches = false;
void (*before_end)() noexcept = nullptr;

/// Address range of the library that allocates memory.
std::uintptr_t library_begin = 0;
std::uintptr_t library_end = 0;

int note_library(dl_phdr_info* object, std::size_t, void*) {
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int k = 0; k < object->dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[k];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, object->dlpi_addr + segment.p_vaddr);
    end = std::max<std::uintptr_t>(end, object->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  const auto allocate = reinterpret_cast<std::uintptr_t>(&std::malloc);
  if (allocate < begin || allocate >= end) return 0;
  library_begin = begin;
  library_end = end;
  return 1;
}

/// True if the interrupted code may hold a lock that an error message needs.
bool may_hold_locks(int signal, void* context) {
  if (signal == SIGABRT) return true;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto instruction = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
  const auto instruction = static_cast<std::uintptr_t>(registers.pc);
#else
  const auto instruction = library_begin + 0 * sizeof registers;
#endif
  return instruction >= library_begin && instruction < library_end;
}

const CaughtSignal& known(int signal) {
  for (const CaughtSignal& s : caught) {
    if (s.number == signal) return s;
  }
  return caught[0];
}

void put(const char* text) { [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text)); }

// Only async-signal-safe calls in this function.
[[noreturn]] void end_process(const ForeignCall& call, int signal) {
  const SourceLine& place = call.caller->place;
  if (place.known()) {
    char digits[16] = {};
    char* first = digits + sizeof digits - 1;
    for (int rest = place.line; rest != 0; rest /= 10) *--first = static_cast<char>('0' + rest % 10);
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, place.file.data(), place.file.size());
    put(":");
    put(first);
    put(": ");
  }
  put("signal ");
  put(known(signal).text);
  put(" in ");
  put(call.caller->functions);
  put("\n");
  if (before_end != nullptr) before_end();
  ::_exit(static_cast<int>(ExitCode::kRunTime));
}

void on_signal(int signal, siginfo_t* info, void* context) {
  ForeignCall* const call = current;
  if (call == nullptr) {
    ::sigaction(signal, &known(signal).before, nullptr);
    if (info->si_code <= 0) ::raise(signal);  // a fault recurs by itself
    return;
  }
  if (may_hold_locks(signal, context)) end_process(*call, signal);
  call->signal = signal;
  ::siglongjmp(call->back, 1);
}

/// Alternative signal stack of this thread, so that a stack overflow can be reported.
class SignalStack {
 public:
  SignalStack() {
    stack_t old{};
    if (::sigaltstack(nullptr, &old) != 0 || (old.ss_flags & SS_DISABLE) == 0) return;
    memory_.resize(kSignalStackBytes);
    stack_t mine{};
    mine.ss_sp = memory_.data();
    mine.ss_size = memory_.size();
    ::sigaltstack(&mine, nullptr);
  }
  ~SignalStack() {
    if (memory_.empty()) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::vector<char> memory_;
};

/// Makes `call` the thread's current call during its lifetime.
class Current {
 public:
  explicit Current(ForeignCall& call) : outer_(current) { current = &call; }
  ~Current() { current = outer_; }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  ForeignCall* outer_;
};

}  // namespace

void catch_foreign_signals(void (*clean_up)() noexcept) {
  if (catches.exchange(true)) return;
  before_end = clean_up;
  ::dl_iterate_phdr(note_library, nullptr);
  for (CaughtSignal& s : caught) {
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(s.number, &action, &s.before);
  }
}

void call_foreign(const ForeignCaller& caller, void (*call)(void*), void* data) {
  if (!catches) return call(data);
  thread_local const SignalStack stack;
  static_cast<void>(stack);
  ForeignCall made{&caller, {}};
  const Current here(made);
  if (sigsetjmp(made.back, 0) == 0) return call(data);
  throw ProgramError(caller.place, std::string("signal ") + known(made.signal).text + " in " + caller.functions +
                                       " [function-signal]");
}

}  // namespace tdsl::rt
