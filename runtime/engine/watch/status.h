#pragma once

#include <cstdint>
#include <string>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

struct Context;
struct OperationRun;
class InFlight;

/// The reason why a rank's least unfinished step is not finished.
enum class Waiting : std::uint8_t {
  kKernel,   ///< nothing: its kernel runs
  kThread,   ///< a free thread
  kPiece,    ///< a piece of a tensor, from a rank
  kBlock,    ///< an earlier block of this rank
  kOrder,    ///< an earlier panel, or output, of this rank
  kMemory,   ///< memory, or space in the window
  kProgram,  ///< the program, which has not submitted more operations
  kRanks     ///< the other ranks
};

/// Activity of a rank, for users and for deadlock detection.
struct RankStatus {
  plan::Index finished = 0;  ///< operations before the least unfinished one
  plan::Index tasks = 0;     ///< tasks that have run
  double share = 0;          ///< fraction of the least unfinished operation's tasks that have run
  int line = 0;              ///< of that operation; 0: none
  std::string name;          ///< of that operation, or if there is none, the reason for waiting
  Waiting waiting = Waiting::kProgram;
  std::string tensor;  ///< kPiece, kBlock
  int source = -1;     ///< kPiece: the rank that sends it
  double seconds = 0;  ///< kKernel: its running time so far
  plan::Index live_bytes = 0;
  plan::Index received = 0;  ///< bytes so far
  double flops = 0;          ///< so far
  bool busy = false;         ///< a kernel runs or can run, data is in flight, or the program itself works
};

/// "line 12, `C`: waits for a piece of `B` from rank 1"
[[nodiscard]] std::string text_of(const RankStatus& status);

/// Fills in the state of the rank's oldest incomplete operation.
void describe(const OperationRun& operation, Context& context, const InFlight& in_flight, RankStatus& status);

}  // namespace tdsl::rt
