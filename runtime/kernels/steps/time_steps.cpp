#include "runtime/kernels/steps/time_steps.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "runtime/kernels/copy.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt {

namespace {

/// The points at which a step is needed `steps` steps before the box.
Box grown_by_steps(const Box& box, const std::vector<plan::Reach>& reach, Index steps) {
  Box result = box;
  for (int d = 0; d < box.rank; ++d) {
    const plan::Reach& r = reach[plan::idx(d)];
    result[d] = {box[d].lo - r.below * steps, box[d].hi + r.above * steps};
  }
  return result;
}

Box box_from(std::span<const Interval> intervals) {
  Box box;
  box.rank = static_cast<int>(intervals.size());
  std::ranges::copy(intervals, box.dim.begin());
  return box;
}

/// The values between steps: two buffers, which grow as needed.
class StepBuffers {
 public:
  /// Both with these elements, not initialised.
  std::array<Operand, 2> of(const Box& box, Index element_bytes) {
    constexpr Index kLine = 64;
    const Index bytes = (box.volume() * element_bytes + kLine - 1) / kLine * kLine;
    if (2 * bytes > bytes_) {
      data_.reset(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(2 * bytes), kAlignment)));
      bytes_ = 2 * bytes;
    }
    return {row_major(data_.get(), box), row_major(data_.get() + bytes, box)};
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
  Index bytes_ = 0;
};

class StepsOfTask {
 public:
  StepsOfTask(const TimeSteps& steps, const Kernel& one, const TaskArgs& task)
      : steps_(steps),
        one_(one),
        task_(task),
        domain_(box_from(steps.domain)),
        inputs_(task.inputs.begin(), task.inputs.end()) {}

  void run() {
    const Box all = box_from(task_.labels);
    std::vector<Index> extents;
    for (const Interval& range : task_.labels) extents.push_back(range.size());
    const std::vector<Index> edges = plan::cache_tile(extents, steps_.reach, steps_.count, steps_.element_bytes);
    std::vector<plan::Tiling> cuts;
    for (std::size_t d = 0; d < edges.size(); ++d)
      cuts.push_back(plan::Tiling::near_equal(extents[d], plan::ceil_div(extents[d], edges[d])));
    each_tile(all, cuts, 0, all);
  }

 private:
  void each_tile(const Box& all, const std::vector<plan::Tiling>& cuts, int d, Box labels) {
    if (d == all.rank) {
      tile(labels);
      return progress::tick();
    }
    const plan::Tiling& cut = cuts[plan::idx(d)];
    for (Index k = 0; k < cut.tiles(); ++k) {
      const Interval part = cut.tile(k);
      labels[d] = {all[d].lo + part.lo, all[d].lo + part.hi};
      each_tile(all, cuts, d + 1, labels);
    }
  }

  /// All steps of a tile.
  void tile(const Box& labels) {
    const Operand& before = task_.inputs[plan::idx(steps_.operand)];
    const Index between = steps_.count - 1;
    const Box held = plan::intersect(grown_by_steps(labels, steps_.reach, between), before.box);
    const std::array<Operand, 2> values = buffers_.of(held, steps_.element_bytes);
    keep_outside(before, values[0], held);
    if (between > 1) keep_outside(before, values[1], held);
    for (Index s = 0; s <= between; ++s) {
      const Box points = plan::intersect(grown_by_steps(labels, steps_.reach, between - s), domain_);
      const bool last = s == between;
      const Operand& out = last ? task_.outputs[0] : values[static_cast<std::size_t>(s % 2)];
      inputs_[plan::idx(steps_.operand)] = s == 0 ? before : values[static_cast<std::size_t>((s - 1) % 2)];
      TaskArgs args = task_;
      args.labels = {points.dim.data(), task_.labels.size()};
      args.inputs = inputs_;
      args.outputs = {&out, 1};
      if (!last) args.out_box = held;
      one_(args);
    }
  }

  /// Copies the elements outside of the domain, which no step changes.
  void keep_outside(const Operand& from, const Operand& to, const Box& held) const {
    for (int d = 0; d < held.rank; ++d) {
      Box below = held, above = held;
      below[d].hi = std::min(held[d].hi, domain_[d].lo);
      above[d].lo = std::max(held[d].lo, domain_[d].hi);
      for (const Box& box : {below, above}) {
        if (!box.empty()) copy_box(from, to, box, steps_.element_bytes);
      }
    }
  }

  const TimeSteps& steps_;
  const Kernel& one_;
  const TaskArgs& task_;
  Box domain_;
  std::vector<Operand> inputs_;
  StepBuffers buffers_;
};

}  // namespace

EmittedKernel time_steps(TimeSteps steps, EmittedKernel kernel) {
  if (steps.count <= 1) return kernel;
  return EmittedKernel([steps = std::move(steps), one = kernel.take()](const TaskArgs& t) {
    const bool empty = std::ranges::any_of(t.labels, [](const Interval& range) { return range.empty(); });
    if (empty) return one(t);
    StepsOfTask(steps, one, t).run();
  });
}

}  // namespace tdsl::rt
