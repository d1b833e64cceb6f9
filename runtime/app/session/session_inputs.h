#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/app/run/program_info.h"
#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/io/input_file.h"
#include "runtime/plan/space/index.h"
#include "runtime/plan/storage.h"

namespace tdsl::rt {

using plan::Index;

/// The input files of a run and the dimensions they bind. Rank 0 alone looks at the headers first, so that a mistake
/// gives one message; then every rank opens the same files and keeps them open, so that what is read is what was
/// checked. Files of entries are then read, every rank its share (Note [Entries find their tiles]).
class SessionInputs {
 public:
  /// What is behind the name of a file (open_input).
  using Open = std::function<InputFile(const std::string& input, const std::string& path, ElementType type)>;
  /// Reads and checks all headers: types, ranks, dimensions bound twice, `--set`; and that the directories of output
  /// files can be written, so that this is not found out after hours. Every rank calls it; a mistake throws the same
  /// RunError on all.
  SessionInputs(World& world, const ProgramInfo& info, const AppOptions& options, Open open = open_input);

  /// The extent bound to the name.
  [[nodiscard]] Index dimension(std::string_view name) const;
  /// Compares the file's extents with what the program computed for them; of a file that does not say its shape they
  /// are bounds.
  void require_shape(const std::string& input, const std::vector<Index>& shape, SourceLine place) const;
  /// The open file of a dense input, or null.
  [[nodiscard]] const TensorReader* dense(const std::string& input) const { return files_.at(input).file->dense(); }
  /// Its elements are in a file in C order, where any box of them can be read at any time.
  [[nodiscard]] bool in_order(const std::string& input) const;
  /// How many elements of it are stored, as far as that is known before they are brought together: entries of its file,
  /// else a guess.
  [[nodiscard]] plan::Estimate stored(const std::string& input) const;
  /// In which of `rows` rows they are; null: not known.
  [[nodiscard]] std::shared_ptr<const plan::RowCounts> row_counts(const std::string& input, Index rows) const {
    const std::shared_ptr<const plan::RowCounts>& known = files_.at(input).rows;
    return known && known->rows == rows ? known : nullptr;
  }
  /// This rank's share of the entries of any other; they are given away.
  [[nodiscard]] Entries take_entries(const std::string& input) { return std::move(files_.at(input).part.entries); }

 private:
  struct File {
    std::string path;
    std::vector<Index> shape;
    bool at_least = false;  ///< the file does not say its shape: `shape` is what its entries reach, or what the program
                            ///< has made of that
    FileIdentity identity;  ///< of rank 0's
    std::optional<InputFile> file;
    EntryFile::Part part;                         ///< this rank's share of a file of entries
    std::shared_ptr<const plan::RowCounts> rows;  ///< of a matrix that is sparse
    std::optional<Index> entries;                 ///< of all ranks together, where they have been read
  };
  [[nodiscard]] std::string encode_files(const ProgramInfo& info) const;
  void decode_files(const ProgramInfo& info, const std::string& text);
  void look_at_headers(const ProgramInfo& info, const AppOptions& options);
  static void look_at_targets(const ProgramInfo& info, const AppOptions& options);
  void open_again(const World& world, const ProgramInfo& info);
  void read_entries(World& world, const ProgramInfo& info, const AppOptions& options);
  static void settle_entries(World& world, File& file);
  static void count_rows(World& world, File& file);
  void bind_dimensions(const ProgramInfo& info, const AppOptions& options);
  /// What fixes a dimension, and how that is called.
  struct Source {
    Index extent;
    std::string text;
    bool at_least = false;
  };
  using Bound = std::map<std::string, Source>;
  static void bind_files(const ProgramInfo& info, const std::map<std::string, File>& files, Bound& bound,
                         bool at_least);

  Open open_;
  std::map<std::string, File> files_;
  std::map<std::string, Index, std::less<>> dimensions_;
};

}  // namespace tdsl::rt
