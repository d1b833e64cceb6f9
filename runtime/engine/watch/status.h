#pragma once

#include <cstdint>
#include <string>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

struct Context;
struct OperationRun;
class InFlight;

/// What a rank's least unfinished step waits for.
enum class Waiting : std::uint8_t {
  kKernel,   ///< nothing: its kernel runs
  kThread,   ///< a thread
  kPiece,    ///< a piece of a tensor, from a rank
  kBlock,    ///< a block that this rank computes before
  kOrder,    ///< an earlier panel, or output, of this rank
  kMemory,   ///< memory, or room in the window
  kProgram,  ///< the program, which has nothing more to do so far
  kRanks     ///< the other ranks
};

/// What a rank does, for people and for whoever looks for deadlocks.
struct RankStatus {
  plan::Index finished = 0;  ///< operations before the least unfinished one
  plan::Index tasks = 0;     ///< that have run
  double share = 0;          ///< of the least unfinished operation's tasks, those that have run
  int line = 0;              ///< of that operation; 0: there is none
  std::string name;          ///< of that operation, or what the rank waits for if there is none
  Waiting waiting = Waiting::kProgram;
  std::string tensor;  ///< kPiece, kBlock
  int source = -1;     ///< kPiece: the rank that sends it
  double seconds = 0;  ///< kKernel: how long it has been running
  plan::Index live_bytes = 0;
  plan::Index received = 0;  ///< bytes so far
  double flops = 0;          ///< so far
  bool busy = false;         ///< a kernel runs or can run, data is under way, or the program itself works
};

/// `line 12, 'C': waits for a piece of 'B' from rank 1`
[[nodiscard]] std::string text_of(const RankStatus& status);

/// Fills in what the rank's oldest incomplete operation does or waits for.
void describe(const OperationRun& operation, Context& context, const InFlight& in_flight, RankStatus& status);

}  // namespace tdsl::rt
