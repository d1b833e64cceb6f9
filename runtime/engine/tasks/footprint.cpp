#include "runtime/engine/tasks/footprint.h"

#include <algorithm>

namespace tdsl::rt {

namespace {

/// Without --window received boxes may take a sixth of the bytes of the rank's own blocks, and at least this number of
/// bytes or the operation's own bound.
constexpr Index kLeastWindow = Index{64} << 20;

}  // namespace

bool Footprint::memory_has(Index more) const {
  const EngineOptions& options = context.options;
  return context.store.live_bytes() + std::max<Index>(options.serve_reserve - serving, 0) + promised + reserved +
             more <=
         options.memory_bytes;
}

bool Footprint::window_has(Index received, Index loads, Index others, Index own_bound) const {
  const EngineOptions& options = context.options;
  if (options.window_bytes > 0) return fetched + loaded + output + received + loads + others <= options.window_bytes;
  // Under --memory read-ahead is limited by memory alone.
  if (options.memory_bytes == 0 && loads > 0 && loaded + loads > kLeastWindow) return false;
  const Index share = std::max<Index>(context.store.live_bytes() - fetched - loaded, 0) / 6;
  return received == 0 || fetched + received <= std::max(own_bound > 0 ? own_bound : kLeastWindow, share);
}

void Footprint::require_room(const plan::Op& op, Index more) const {
  const Index held = context.store.live_bytes() + promised + reserved;
  if (context.options.most_bytes > 0 && held + more > context.options.most_bytes)
    stop(op, std::to_string(more) + " bytes", held);
}

void Footprint::stop_for_block(const plan::Op& op, Index bytes) const {
  stop(op, "a block of " + std::to_string(bytes) + " bytes", context.store.live_bytes());
}

void Footprint::stop(const plan::Op& op, const std::string& needs, Index held) const {
  const EngineOptions& options = context.options;
  const std::string limit = options.memory_source.empty() ? "--memory " + std::to_string(options.memory_bytes)
                                                          : "the " + std::to_string(options.memory_bytes) +
                                                                " that a rank may have, as " + options.memory_source;
  throw RunError(options.place ? options.place(op.line) : SourceLine{},
                 "`" + op.name + "` needs " + needs + " beside the " + std::to_string(held) +
                     " that this rank holds: more than " + limit + " [out-of-memory]");
}

}  // namespace tdsl::rt
