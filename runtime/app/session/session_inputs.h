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
#include "runtime/sparse/coded_visits.h"

namespace tdsl::rt {

using plan::Index;

/// The input files of a run and the dimensions bound by them. Rank 0 checks the headers first, so that an error gives
/// one message; then every rank opens the same files and keeps them open, so that the data read is the data checked.
/// Files of entries are read at once, each rank its share (Note [Entries find their tiles]).
class SessionInputs {
 public:
  /// Opens a file by name (open_input by default).
  using Open = std::function<InputFile(const std::string& input, const std::string& path, ElementType type)>;
  /// Reads and checks all headers: types, ranks, dimensions bound twice, `--set`. Also checks that the directories of
  /// output files are writable, so that this does not fail after hours. Collective; throws the same RunError on all
  /// ranks.
  SessionInputs(World& world, const ProgramInfo& info, const AppOptions& options, Open open = open_input);

  /// The extent bound to the name.
  [[nodiscard]] Index dimension(std::string_view name) const;
  /// Compares the file's extents with those the program computed; if the file does not state its shape, they are upper
  /// bounds.
  void require_shape(const std::string& input, const std::vector<Index>& shape, SourceLine place) const;
  /// The open file of a dense input, or null.
  [[nodiscard]] const TensorReader* dense(const std::string& input) const { return files_.at(input).file->dense(); }
  /// True if the input's elements are in C order in a file, so that any box can be read at any time.
  [[nodiscard]] bool in_order(const std::string& input) const;
  /// Number of stored elements, as far as it is known before redistribution: the file's entries, else an estimate.
  [[nodiscard]] plan::Estimate stored(const std::string& input) const;
  /// Their distribution over `rows` rows; null if unknown.
  [[nodiscard]] std::shared_ptr<const plan::RowCounts> row_counts(const std::string& input, Index rows) const {
    const std::shared_ptr<const plan::RowCounts>& known = files_.at(input).rows;
    return known && known->rows == rows ? known : nullptr;
  }
  /// Lets blocks of the input store columns as codes.
  void code_columns(const std::string& input, const sparse::CodedVisits& visits) {
    coded_.insert_or_assign(input, visits);
  }
  /// The visits of an input that may be coded.
  [[nodiscard]] std::optional<sparse::CodedVisits> coded_visits(const std::string& input) const {
    const auto found = coded_.find(input);
    return found == coded_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Moves out this rank's share of the entries of an input that is not dense.
  [[nodiscard]] Entries take_entries(const std::string& input) { return std::move(files_.at(input).part.entries); }

 private:
  struct File {
    std::string path;
    std::vector<Index> shape;
    bool at_least = false;  ///< the file does not state its shape: `shape` is a lower bound from its entries, or the
                            ///< extents the program computed
    FileIdentity identity;  ///< rank 0's file
    std::optional<InputFile> file;
    EntryFile::Part part;                         ///< this rank's share of a file of entries
    std::shared_ptr<const plan::RowCounts> rows;  ///< for a sparse matrix
    std::optional<Index> entries;                 ///< total over all ranks, once read
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
  /// The origin of a dimension's extent.
  struct Source {
    Index extent;
    const InputDeclaration* input = nullptr;  ///< null: --set
    std::size_t dimension = 0;                ///< of the input
    bool at_least = false;
  };
  using Bound = std::map<std::string, Source>;
  [[nodiscard]] static std::string text_of(const Source& source, const std::map<std::string, File>& files);
  static void bind_files(const ProgramInfo& info, const std::map<std::string, File>& files, Bound& bound,
                         bool at_least);

  Open open_;
  std::map<std::string, File> files_;
  std::map<std::string, sparse::CodedVisits> coded_;
  std::map<std::string, Index, std::less<>> dimensions_;
};

}  // namespace tdsl::rt
