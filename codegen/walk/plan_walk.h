#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/operations/program.h"
#include "runtime/plan/cost/machine.h"
#include "runtime/plan/factorise.h"
#include "runtime/plan/region/region.h"
#include "runtime/record/control.h"
#include "runtime/record/survey.h"

namespace tdsl::codegen {

/// Known properties of a compressed input.
struct StoredInput {
  plan::Estimate elements;
  std::shared_ptr<const plan::RowCounts> rows{};  ///< null: unknown
};

/// The inputs the executable would receive.
struct WalkRequest {
  plan::Index ranks = 1;
  plan::Index deciding_ranks = 1;  ///< plan::PlanInputs::deciding_ranks
  std::map<std::string, ir::Literal> params;
  std::map<std::string, std::int64_t> dimensions;
  std::set<std::string> files;  ///< outputs written to a file
  /// Those written in C order, and the most bytes of a series' record that is written so.
  std::map<std::string, plan::Index> row_files;
  std::set<std::string> line_files;           ///< those in which a record of a series is a line
  std::map<std::string, StoredInput> stored;  ///< other inputs are estimated
  plan::Factorise factorise = plan::Factorise::kAuto;
  plan::Index time_tile = 1;  ///< --time-tile; 0: by price, on this machine with these threads per rank
  plan::Machine machine;
  int threads = 1;
};
using Note = std::function<void(SourceRange, const std::string&)>;

class HostEvaluator;
/// Observes the computations of recorded operations.
class OperationObserver {
 public:
  virtual ~OperationObserver() = default;
  /// An emitted operation: its result tensor, its step, and the current host values.
  virtual void emitted(plan::TensorId made, const OperationStep& step, const HostEvaluator& host) = 0;
  /// A product, or a sum of products, of all operands of the operation, in one of several contraction orders.
  virtual void product(plan::TensorId made, const plan::Op& op, ir::Scalar type) = 0;
};

/// Records the executable's operations, with numbers for sizes, and computes nothing.
class Walk {
 public:
  Walk(const OperationProgram& program, const WalkRequest& request, record::Recorder& recorder);
  ~Walk();

  /// Walks the program once. `note`: receives the run's messages about slow paths. Throws rt::RunError for conflicting
  /// sizes, and for data-dependent sizes and loop bounds if `control` gives no value.
  void run(record::Control& control, const Note& note);
  /// Location of the current step.
  [[nodiscard]] SourceRange place() const;
  /// Null: no observer.
  void observe(OperationObserver* observer);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

/// The program as `explain` shows it: recording loops are followed for up to 1000 iterations; data-dependent loops for
/// one iteration, data-dependent branches into the first branch. Notes report this, and the selected forms.
void walk_as_shown(const OperationProgram& program, const WalkRequest& request, record::Recorder& recorder,
                   const Note& note, const record::Forms& forms = {});
/// The recording that the executable would survey. Keeps references to its arguments.
[[nodiscard]] record::Recording recording_of(const OperationProgram& program, const WalkRequest& request,
                                             OperationObserver* observer = nullptr);

/// The operation with numbers for all extents; `tensor`: its operands.
[[nodiscard]] plan::Op instantiate(const RecordedOp& op, int line,
                                   const std::function<std::int64_t(const Extent&)>& number,
                                   const std::function<const plan::TensorDesc&(ValueId)>& tensor);

}  // namespace tdsl::codegen
