#pragma once

#include <string>

#include "runtime/engine/context.h"
#include "runtime/plan/op.h"

namespace tdsl::rt {

/// Bytes of admitted steps, against window and memory. The least unfinished step may exceed both (README.md).
struct Footprint {
  explicit Footprint(const Context& c) : context(c) {}

  /// Bytes that blocks of unknown sizes count in memory.
  [[nodiscard]] Index counted(const plan::Estimate& bytes) const {
    return context.options.most_bytes > 0 ? bytes.expected_bytes() : bytes.most_bytes();
  }
  /// True if memory has room for `more` bytes.
  [[nodiscard]] bool memory_has(Index more) const;
  /// True if the window has room for received boxes, loaded pieces and other blocks of these bytes. `own_bound`: the
  /// operation's own limit on received bytes; 0: none.
  [[nodiscard]] bool window_has(Index received, Index loads, Index others, Index own_bound) const;
  /// Throws RunError if the operation, which runs alone, needs more memory than the system has.
  void require_room(const plan::Op& op, Index more) const;
  /// Throws RunError: a block of the operation, which runs alone, exceeds the memory.
  [[noreturn]] void stop_for_block(const plan::Op& op, Index bytes) const;

  const Context& context;
  Index loaded = 0;    ///< pieces of own blocks on disk or in files
  Index fetched = 0;   ///< receive buffers; sized pieces without a buffer at their expected size
  Index reserved = 0;  ///< under a memory limit, sized pieces without a buffer: counted()
  Index promised = 0;  ///< output blocks of tasks not yet started; sized ones until they are complete
  Index output = 0;    ///< output blocks until they are complete
  Index serving = 0;   ///< boxes read from disk for peers

 private:
  [[noreturn]] void stop(const plan::Op& op, const std::string& needs, Index held) const;
};

}  // namespace tdsl::rt
