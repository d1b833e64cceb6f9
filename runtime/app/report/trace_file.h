#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/app/report/trace_json.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/engine/trace.h"
#include "runtime/io/output_file.h"

namespace tdsl::rt {

// Messages at the beginning and end of a run, when no engine is running.

enum AppTag : int { kClockAsk = 64, kClockAnswer = 65, kTraceEvents = 66, kPicturePixels = 67 };

/// Waits for a message with that tag; discards other messages of this phase.
[[nodiscard]] ControlMessage await_message(World& world, int tag);
/// Sends, and waits until MPI has completed the send locally.
void send_message(World& world, int rank, int tag, std::span<const std::byte> bytes);

/// Offset to add to this rank's World::now() to get rank 0's clock, accurate to half the fastest of several round
/// trips. Collective; no other messages may be in flight.
[[nodiscard]] double clock_offset(World& world);

/// The trace of a run, from start to file. Collective: every rank constructs one and calls the same functions.
class TraceFile {
 public:
  static constexpr std::size_t kMostEvents = 1000000;  ///< over all ranks

  /// Rank 0 creates the file, so that an unwritable path fails before the run. Synchronises the clocks.
  TraceFile(World& world, const std::string& path, int threads);

  [[nodiscard]] Trace& trace() { return *trace_; }
  /// Gathers events on rank 0, which writes them. The file has its final name on return. Throws the same error on all
  /// ranks.
  void write(TraceDescription run);

 private:
  [[nodiscard]] std::vector<std::byte> encode(int halvings, std::size_t most, double drift) const;
  void write_file(const TraceDescription& run, const std::vector<TracedThread>& threads);

  World& world_;
  double offset_ = 0;  ///< clock offset at the start
  double begin_ = 0;   ///< start time on the local clock
  std::unique_ptr<Trace> trace_;
  std::optional<OutputFile> file_;  ///< rank 0 only
};

/// The number of halvings after which at most `most` events remain: `counts[h]` events remain after h halvings.
/// `least`: halvings that some rank has already done.
[[nodiscard]] int common_halvings(const std::vector<std::int64_t>& counts, int least, std::int64_t most);

}  // namespace tdsl::rt
