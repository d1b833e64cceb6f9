#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/report/trace_json.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/engine/trace.h"
#include "runtime/io/output_file.h"

namespace tdsl::rt {

/// The trace of a run, from its beginning to the file. Every rank makes one and calls the same functions.
class TraceFile {
 public:
  static constexpr std::size_t kMostEvents = 1000000;  ///< on all ranks together

  /// Rank 0 begins the file: what cannot be written is known before the run. Aligns the clocks.
  TraceFile(World& world, const std::string& path, int threads);

  [[nodiscard]] Trace& trace() { return *trace_; }
  /// Gathers events on rank 0, which writes them. The file has its name when this returns. Throws the same everywhere.
  void write(TraceDescription run);

 private:
  [[nodiscard]] std::vector<std::byte> encode(int halvings, std::size_t most, double drift) const;
  void write_file(const TraceDescription& run, const std::vector<TracedThread>& threads);

  World& world_;
  double offset_ = 0;  ///< of the clock, at the beginning
  double begin_ = 0;   ///< then, on the own clock
  std::unique_ptr<Trace> trace_;
  std::optional<OutputFile> file_;  ///< on rank 0
};

/// How often all halve so that no more than `most` events are left: `counts[h]` events are left after h halvings, of
/// which nobody has less than `least`.
[[nodiscard]] int common_halvings(const std::vector<std::int64_t>& counts, int least, std::int64_t most);

}  // namespace tdsl::rt
