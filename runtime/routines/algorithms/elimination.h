#pragma once

#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

/// Gaussian elimination with partial pivoting, shared by lu and solve.
class Elimination : protected Steps {
 protected:
  using Steps::Steps;

  /// L and U in one matrix with unpermuted rows: row p[i] is row i of both.
  struct Eliminated {
    TensorHandle s;
    TensorHandle p;
  };
  /// Eliminates the first `columns` columns of s. `stops`: a zero pivot ends the run. Uses recording places 1 to 10.
  [[nodiscard]] Eliminated eliminate(TensorHandle s, Index columns, bool stops);
  /// Solves D Y = `right` for Y, a triangular system distributed by columns; `kernel` selects the triangle.
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
