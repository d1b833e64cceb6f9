#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/planner.h"
#include "runtime/record/segment_form.h"

namespace tdsl::rt {

/// A segment that may be recorded again with other tensors, as each iteration of a loop records one.
struct RepeatedSegment {
  struct Operation {
    std::shared_ptr<plan::PlannedOp> planned;  ///< with the tensors of the latest execution
    std::shared_ptr<RepeatedOperation> listed;
    std::size_t recorded = 0;     ///< its number in the segment
    std::vector<int> last_names;  ///< slots of the tensors whose last use it is
    std::vector<plan::PlacedTensor>
        stays;  ///< outputs that the next segments know, by number of the output; id -1: not
    plan::Cost cost;
  };

  explicit RepeatedSegment(record::SegmentForm its_form) : form(std::move(its_form)) {}

  record::SegmentForm form;
  std::vector<Operation> operations;
  std::vector<plan::PlacedTensor> outside;  ///< parallel to form.outside()
  std::vector<int> ended;                   ///< slots of tensors that end without a use
};

/// The segments of a run that were kept, and whether a segment is worth keeping.
class RepeatedSegments {
 public:
  /// A place of the program that records segments.
  struct Place {
    bool seen = false;
    int misses = 0;  ///< segments of other forms since the last repetition
    std::unique_ptr<RepeatedSegment> kept;
    /// Notes a segment that is not a repetition; true if it should be kept.
    [[nodiscard]] bool miss();
    /// Keeps a segment; null: it cannot be repeated.
    void keep(std::unique_ptr<RepeatedSegment> segment);
    [[nodiscard]] bool given_up() const { return misses > kMostMisses; }
  };
  /// The place of a segment, which is not empty. Valid until the next call.
  [[nodiscard]] Place& place_of(const plan::Segment& segment);

  std::int64_t kept = 0;        ///< segments
  std::int64_t repeated = 0;    ///< segments
  std::int64_t operations = 0;  ///< of the repeated segments

 private:
  /// A loop whose boxes change in every iteration does not repeat.
  static constexpr int kMostMisses = 4;
  static constexpr std::size_t kMostPlaces = 64;
  std::unordered_map<std::uint64_t, Place> places_;
};

/// The planned segment, listed for repetition; null: it cannot be repeated.
[[nodiscard]] std::unique_ptr<RepeatedSegment> listed_segment(record::SegmentForm form,
                                                              const plan::PlannedSegment& planned,
                                                              const plan::Planner& planner, Engine& engine);

/// True if the tensors, by slot, are where those of the kept segment were.
[[nodiscard]] bool lie_alike(const RepeatedSegment& segment, const std::vector<plan::TensorId>& tensors,
                             const plan::Planner& planner);

}  // namespace tdsl::rt
