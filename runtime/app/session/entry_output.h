#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/io/entries/entry_writer.h"
#include "runtime/kernels/task.h"

namespace tdsl::rt {

/// A program output in a format of entries. Tasks collect the entries of the tiles they own; at the end ranks exchange
/// entries so that each has a range of rows, and write. The bytes do not depend on the number of ranks.
class EntryOutput {
 public:
  explicit EntryOutput(std::unique_ptr<EntryWriter> writer) : writer_(std::move(writer)) {}

  [[nodiscard]] EntryWriter& writer() { return *writer_; }
  /// Collects the elements of a task's tile. Thread-safe.
  void collect(const TaskArgs& args);
  /// Exchanges entries. Collective, after all tasks, inside the engine's run.
  void gather(Engine& engine, int rank, int ranks);
  /// Collective, after the run. May throw on this rank only.
  void write(const std::vector<EntryWriter::Numbers>& all, int rank) { second_ = writer_->write(all, rank); }
  [[nodiscard]] const EntryWriter::Numbers& first() const { return first_; }
  [[nodiscard]] const EntryWriter::Numbers& second() const { return second_; }

 private:
  std::unique_ptr<EntryWriter> writer_;
  std::mutex mutex_;
  std::vector<Entries> tiles_;
  EntryWriter::Numbers first_, second_;
};

}  // namespace tdsl::rt
