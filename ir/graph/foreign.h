#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/scalar.h"

namespace tdsl::ir {

/// A user's C++ function (`extern "kernels.hpp" { … }`), as needed for calls:
///
///     fn gelu(x: f64) -> f64;
///         double gelu(double x)
///     kernel lu_block(A: in f64[b, b], L: out f64[b, b]);
///         void lu_block(tdsl::Tile<const double, 2> A, tdsl::Tile<double, 2> L)
///
/// It has no effects: equal operands give equal results.
struct Foreign {
  struct Parameter {
    std::string name;
    Scalar type = Scalar::kF64;
    std::size_t rank = 0;  ///< 0: a scalar, by value, or by reference for an output
    bool is_output = false;
    bool fresh = true;  ///< for an output: its elements are zero before the call; otherwise the call writes all of them
                        ///< and reads none before
  };
  /// Runs it on the caller's memory: for every parameter, in order, the elements in row-major order and the extents;
  /// for a `fn` the result comes last.
  using Entry = void (*)(void* const* places, const std::int64_t* const* extents);

  std::string header;  ///< as included by emitted code: relative to the program's folder
  std::string name;
  std::vector<Parameter> parameters;
  bool is_kernel = false;
  Scalar result = Scalar::kF64;  ///< for a `fn`
  bool may_stop = true;          ///< a call may not terminate, or may trap
  double operations = 1;         ///< per call, an integer: for a kernel per element of its largest operand

  /// The compiled function: set before a program is evaluated (not part of the meaning, and not printed).
  mutable Entry entry = nullptr;
  /// Keeps `entry` valid.
  mutable std::shared_ptr<void> library = nullptr;
};
using ForeignRef = std::shared_ptr<const Foreign>;

/// `foreign "kernels.hpp" "gelu" …`, for the text form; reads back.
[[nodiscard]] std::string text_of(const Foreign& foreign);

/// "`gelu` of kernels.hpp"
[[nodiscard]] std::string title_of(const Foreign& foreign);

/// Messages refer to functions with these titles as: "the C++ function `f` of k.hpp", "one of the C++ functions `f` of
/// k.hpp, `g` of k.hpp".
[[nodiscard]] std::string title_of(const std::set<std::string>& functions);

}  // namespace tdsl::ir
