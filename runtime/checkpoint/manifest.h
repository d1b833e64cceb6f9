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

/// A tensor that had a name at the boundary.
struct LiveTensor {
  record::KnownTensor known;
  bool recorded_again = false;              ///< a source that the replay records
  std::optional<plan::Distribution> where;  ///< none: nothing had used it, so it had no place yet
  std::optional<plan::Distribution> copy;   ///< of a kept copy
  std::vector<int> readers;                 ///< sites that read the copy
  plan::Distribution saved;                 ///< of its blocks in the files, unless it is recorded again
  std::int64_t base = 0;                    ///< the base that has them; 0: the checkpoint itself
  int site = 0;                             ///< where the program made it; 0: that was not known
  plan::Housing housing{};                  ///< where its blocks were
};

/// A name and a value, to be compared.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Blocks of tensors that do not change for a while: written once, and referred to by checkpoints of that number and
/// later ones.
struct Base {
  std::int64_t number = 0;
  std::vector<FileSeal> files;  ///< by rank of those that wrote it
};

/// All there is to say of a checkpoint beside its blocks.
struct Manifest {
  std::int64_t number = 0;
  Facts identity;           ///< program, params, inputs: a run with other ones cannot continue
  Facts setting;            ///< ranks, threads and the like: with the same ones it continues with the same bits
  std::string plan;         ///< text of the plan that was imposed, or empty
  std::string machine;      ///< text of the constants that it was planned with
  std::int64_t memory = 0;  ///< bytes per rank that it was planned within; 0: no limit
  double seconds = 0;       ///< of computing until then, earlier runs included
  double predicted = 0;     ///< seconds of the whole run, on rank 0, and how many of them were over; 0: nobody asked
  double done = 0;
  record::Path path;
  std::vector<LiveTensor> tensors;
  std::vector<FileSeal> files;  ///< by rank
  std::vector<Base> bases;      ///< that tensors refer to

  [[nodiscard]] const LiveTensor* find(plan::TensorId id) const;
  /// Of a base, or of the checkpoint itself.
  [[nodiscard]] const std::vector<FileSeal>& files_of(std::int64_t base) const;
};

/// With its own sum at the end; reading it back gives an equal value.
[[nodiscard]] std::string print(const Manifest& manifest);
/// A manifest of another format: not damaged, and nothing of its checkpoint is ours to remove.
class OtherVersion : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Damaged or OtherVersion.
[[nodiscard]] Manifest parse_manifest(std::string_view text);

/// The first difference in words, `param k was 3, is now 4`; empty: none.
[[nodiscard]] std::string difference(const Facts& then, const Facts& now);

}  // namespace tdsl::rt::checkpoint
