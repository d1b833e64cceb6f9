#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/io/entries/entry_writer.h"
#include "runtime/kernels/task.h"

namespace tdsl::rt {

/// A program output as entries. Tasks collect the entries of the tiles they own; at the end ranks exchange entries so
/// that each has a range of rows.
class EntryOutput {
 public:
  /// `written`: which elements of dense blocks are entries.
  EntryOutput(ElementType type, std::vector<Index> shape, Written written)
      : type_(type), shape_(std::move(shape)), written_(written) {}
  virtual ~EntryOutput() = default;
  EntryOutput(const EntryOutput&) = delete;
  EntryOutput& operator=(const EntryOutput&) = delete;

  /// Collects the elements of a task's tile. Thread-safe.
  void collect(const TaskArgs& args);
  /// Exchanges entries. Collective, after all tasks, inside the engine's run.
  void gather(Engine& engine, int rank, int ranks);

 private:
  /// This rank's rows and their entries, in the order of their coordinates.
  virtual void take(Entries entries, EntryWriter::Rows rows) = 0;
  [[nodiscard]] EntryForm form() const {
    return {static_cast<int>(shape_.size()), type_, EntryForm::needs_wide(shape_)};
  }

  ElementType type_;
  std::vector<Index> shape_;
  Written written_;
  std::mutex mutex_;
  std::vector<Entries> tiles_;
};

/// In a file, whose bytes do not depend on the number of ranks.
class EntryFileOutput final : public EntryOutput {
 public:
  explicit EntryFileOutput(std::unique_ptr<EntryWriter> writer)
      : EntryOutput(writer->type(), writer->shape(), writer->written()), writer_(std::move(writer)) {}

  [[nodiscard]] EntryWriter& writer() { return *writer_; }
  /// Collective, after the run. May throw on this rank only.
  void write(const std::vector<EntryWriter::Numbers>& all, int rank) { second_ = writer_->write(all, rank); }
  [[nodiscard]] const EntryWriter::Numbers& first() const { return first_; }
  [[nodiscard]] const EntryWriter::Numbers& second() const { return second_; }

 private:
  void take(Entries entries, EntryWriter::Rows rows) override { first_ = writer_->take(entries, rows); }

  std::unique_ptr<EntryWriter> writer_;
  EntryWriter::Numbers first_, second_;
};

}  // namespace tdsl::rt
