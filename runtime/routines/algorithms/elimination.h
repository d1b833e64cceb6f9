#pragma once

#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

/// Gaussian elimination with partial pivoting, which lu and solve share.
class Elimination : protected Steps {
 protected:
  using Steps::Steps;

  /// L and U in one matrix, rows where they were: row p[i] is row i of both.
  struct Eliminated {
    TensorHandle s;
    TensorHandle p;
  };
  /// Of the first `columns` columns of s. `stops`: a zero pivot ends the run. Recording places 1 to 10.
  [[nodiscard]] Eliminated eliminate(TensorHandle s, Index columns, bool stops);
  /// Y of D Y = `right`, a triangular system by columns; `lower` is the kernel.
  [[nodiscard]] TensorHandle solved(int place, std::string_view name, KernelName kernel, const TensorHandle& corner,
                                    const TensorHandle& right);

 private:
  void step(Eliminated& now, const Block& b, bool stops);
  [[nodiscard]] TensorHandle factored_panel(const TensorHandle& columns, const TensorHandle& p, const Block& b,
                                            bool stops);
  [[nodiscard]] TensorHandle rows_now(const TensorHandle& panel, Index m, Index width);
  [[nodiscard]] TensorHandle negative_factors(const TensorHandle& panel, Index m, const Block& b);
};

}  // namespace tdsl::rt::routines
