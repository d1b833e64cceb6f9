#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/checkpoint/rank_file.h"
#include "runtime/plan/home.h"
#include "runtime/plan/space/distribution.h"
#include "runtime/record/path.h"

namespace tdsl::rt::checkpoint {

/// A tensor with a name at the boundary.
struct LiveTensor {
  record::KnownTensor known;
  bool recorded_again = false;              ///< a source that the replay records again
  std::optional<plan::Distribution> where;  ///< none: unused so far, hence not yet placed
  std::optional<plan::Distribution> copy;   ///< distribution of a kept copy
  std::vector<int> readers;                 ///< sites that read the copy
  plan::Distribution saved;                 ///< distribution of its blocks in the files, unless it is recorded again
  std::int64_t base = 0;                    ///< the base that contains them; 0: the checkpoint itself
  int site = 0;                             ///< site that produced it; 0: unknown
  plan::Housing housing{};                  ///< home of its blocks
};

/// Names and values for comparison.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Blocks of tensors that do not change for a while: written once; checkpoints with this and later numbers refer to
/// them.
struct Base {
  std::int64_t number = 0;
  std::vector<FileSeal> files;  ///< by rank of the run that wrote it
};

/// A series that has begun: its complete records are in its file, or the last one is here as text.
struct SavedSeries {
  std::string name;
  std::int64_t records = 0;
  std::string text{};
};

/// All data of a checkpoint except its blocks.
struct Manifest {
  std::int64_t number = 0;
  Facts identity;           ///< program, params, inputs: a run with different ones cannot continue
  Facts setting;            ///< ranks, threads etc.: with the same ones the results are bitwise identical
  std::string plan;         ///< text of the imposed plan, or empty
  std::string machine;      ///< text of the machine constants used for planning
  std::int64_t memory = 0;  ///< memory limit used for planning, bytes per rank; 0: no limit
  double seconds = 0;       ///< computing time so far, including earlier runs
  double predicted = 0;     ///< predicted seconds of the whole run, on rank 0; 0: not predicted
  double done = 0;
  record::Path path;
  std::vector<SavedSeries> series;
  std::vector<LiveTensor> tensors;
  std::vector<FileSeal> files;  ///< by rank
  std::vector<Base> bases;      ///< referred to by tensors

  [[nodiscard]] const LiveTensor* find(plan::TensorId id) const;
  [[nodiscard]] const SavedSeries* find_series(std::string_view name) const;
  /// Files of a base, or with 0 of the checkpoint itself.
  [[nodiscard]] const std::vector<FileSeal>& files_of(std::int64_t base) const;
};

/// Text with its own checksum at the end; parsing it gives an equal value.
[[nodiscard]] std::string print(const Manifest& manifest);
/// A manifest of another format version: not damaged, and its checkpoint must not be removed.
class OtherVersion : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Damaged or OtherVersion.
[[nodiscard]] Manifest parse_manifest(std::string_view text);

/// The first difference as text, `param k was 3, is now 4`; empty: none.
[[nodiscard]] std::string difference(const Facts& then, const Facts& now);

}  // namespace tdsl::rt::checkpoint
