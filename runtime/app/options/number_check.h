#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/app/run/program_info.h"
#include "runtime/engine/engine.h"

namespace tdsl::rt {

/// `tdslc build` options that give every named value its own kernel.
inline constexpr const char* kSplitKernels = "--fusion none --disable-pass serial_loops";

/// Location of a nan or infinity.
struct NumberFinding {
  plan::Index operation = 0;  ///< submission number, equal on all ranks
  plan::Index output = 0;     ///< output number of the operation
  std::vector<plan::Index> at;
  double value = 0;
  int rank = 0, line = 0;
  std::string tensor;
  bool loaded = false;  ///< read from an input file or a checkpoint

  /// Program order, then the order of the elements.
  [[nodiscard]] bool before(const NumberFinding& other) const;
  /// The message. `inner`: source lines also evaluated inside the kernel, as text; empty if there are none.
  [[nodiscard]] std::string text(const std::string& inner) const;
};

/// `lines 3-5, 8 and other.tdsl:2`; empty if there are no places.
[[nodiscard]] std::string lines_text(const ProgramInfo& info, const std::vector<int>& places);

/// `--check=nan,inf`: checks every block on completion, and out-of-core inputs as they are read; keeps the first
/// finding in program order. An element is never reported because of an operand: the operand's own block has a smaller
/// operation number and is reported instead. Thread-safe.
class NumberCheck final : public BlockWatch {
 public:
  NumberCheck(NumberKinds kinds, int rank) : kinds_(kinds), rank_(rank) {}

  void complete(plan::Index operation, const plan::Op& op, int output, const Operand& dense,
                const BlockPart& sized) override;
  /// The first finding over all ranks. Collective, after all submitted operations have completed.
  [[nodiscard]] std::optional<NumberFinding> first(Engine& engine, int ranks) const;

 private:
  void keep(NumberFinding finding);
  NumberKinds kinds_;
  int rank_;
  mutable std::mutex mutex_;
  std::optional<NumberFinding> least_;
};

}  // namespace tdsl::rt
