#pragma once

#include <array>
#include <string>

#include "runtime/kernels/task.h"

namespace tdsl::rt::routines::kernels {

/// The matrices of a task in row-major order: the first `batch` labels and dimensions of all operands number them. An
/// operand with one place in a dimension has it for all.
class BatchWalk {
 public:
  BatchWalk(const TaskArgs& t, int batch) : batch_(batch) {
    for (int d = 0; d < batch; ++d) {
      range_[plan::idx(d)] = t.labels[plan::idx(d)];
      at_[plan::idx(d)] = t.lo(d);
      done_ = done_ || t.labels[plan::idx(d)].empty();
    }
  }

  [[nodiscard]] bool done() const { return done_; }
  void next() {
    for (int d = batch_ - 1; d >= 0; --d) {
      if (++at_[plan::idx(d)] < range_[plan::idx(d)].hi) return;
      at_[plan::idx(d)] = range_[plan::idx(d)].lo;
    }
    done_ = true;
  }

  /// Elements from the operand's first one to the current matrix.
  [[nodiscard]] Index offset(const Operand& operand) const {
    Index sum = 0;
    for (int d = 0; d < batch_; ++d) {
      if (operand.box[d].size() != 1) sum += (at_[plan::idx(d)] - operand.box[d].lo) * operand.stride[plan::idx(d)];
    }
    return sum;
  }

  /// The current subscripts, for messages: " (batch [3, 0])".
  [[nodiscard]] std::string text() const {
    std::string list;
    for (int d = 0; d < batch_; ++d) list += (d == 0 ? "" : ", ") + std::to_string(at_[plan::idx(d)]);
    return " (batch [" + list + "])";
  }

 private:
  int batch_;
  std::array<Interval, plan::kMaxRank> range_{};
  std::array<Index, plan::kMaxRank> at_{};
  bool done_ = false;
};

}  // namespace tdsl::rt::routines::kernels
