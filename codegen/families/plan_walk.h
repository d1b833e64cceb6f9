#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/families/families.h"
#include "runtime/plan/factorise.h"
#include "runtime/plan/region/region.h"
#include "runtime/record/control.h"
#include "runtime/record/survey.h"

namespace tdsl::codegen {

/// What is known of a compressed input.
struct StoredInput {
  plan::Estimate elements;
  std::shared_ptr<const plan::RowCounts> rows{};  ///< null: not known
};

/// What the executable would be given.
struct WalkRequest {
  plan::Index ranks = 1;
  plan::Index deciding_ranks = 1;  ///< plan::PlanInputs::deciding_ranks
  std::map<std::string, ir::Literal> params;
  std::map<std::string, std::int64_t> dimensions;
  std::set<std::string> files;                ///< outputs that go to a file
  std::set<std::string> row_files;            ///< of them, those in C order
  std::map<std::string, StoredInput> stored;  ///< of others it is guessed
  plan::Factorise factorise = plan::Factorise::kAuto;
};
using Note = std::function<void(SourceRange, const std::string&)>;

class HostEvaluator;
/// Is told what recorded operations compute.
class OperationObserver {
 public:
  virtual ~OperationObserver() = default;
  /// An emitted operation: the tensor it makes, what it computes, and the numbers that host values have there.
  virtual void emitted(plan::TensorId made, const OperationStep& step, const HostEvaluator& host) = 0;
  /// A product, or a sum of products, of all that the operation reads, as one of several orders has it.
  virtual void product(plan::TensorId made, const plan::Op& op, ir::Scalar type) = 0;
};

/// Records what the executable would, with numbers for sizes, and computes nothing.
class Walk {
 public:
  Walk(const FamilyProgram& program, const WalkRequest& request, record::Recorder& recorder);
  ~Walk();

  /// Walks the program once. `note`: what the run would say of slow paths.
  /// Throws rt::RunError for sizes that clash, and for sizes and loop bounds that depend on data where `control` gives
  /// no value.
  void run(record::Control& control, const Note& note);
  /// The step that is being walked.
  [[nodiscard]] SourceRange place() const;
  /// Null: nobody is told.
  void observe(OperationObserver* observer);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

/// The program as `explain` shows it: loops that record are followed for up to 1000 iterations; of what depends on
/// data, one iteration of a loop and the first branch. A note says so, and which form of several runs.
void walk_as_shown(const FamilyProgram& program, const WalkRequest& request, record::Recorder& recorder,
                   const Note& note, const record::Forms& forms = {});
/// What the executable surveys of itself. Refers to its arguments.
[[nodiscard]] record::Recording recording_of(const FamilyProgram& program, const WalkRequest& request,
                                             OperationObserver* observer = nullptr);

/// The operation with numbers for all extents; `tensor`: its operands.
[[nodiscard]] plan::Op instantiate(const OpTemplate& op, int line,
                                   const std::function<std::int64_t(const Extent&)>& number,
                                   const std::function<const plan::TensorDesc&(ValueId)>& tensor);

}  // namespace tdsl::codegen
