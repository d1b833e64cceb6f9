#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph/scalar.h"

namespace tdsl::ir {

/// A C++ function of the user's (`extern "kernels.hpp" { … }`), as calls of it need it:
///
///     fn gelu(x: f64) -> f64;                          double gelu(double x)
///     kernel lu_block(A: in f64[b, b], L: out f64[b, b]);   void lu_block(tdsl::Tile<const double, 2> A,
///     tdsl::Tile<double, 2> L)
///
/// It has no effects: for the same operands it gives the same results.
struct Foreign {
  struct Parameter {
    std::string name;
    Scalar type = Scalar::kF64;
    std::size_t rank = 0;  ///< 0: a scalar, by value, or of an output by reference
    bool is_output = false;
    bool fresh = true;  ///< of an output: its elements are zero before the call; else the call writes all of them and
                        ///< reads none before
  };
  /// Runs it on memory of the caller's: of every parameter, in order, the elements in row-major order and the extents;
  /// of a `fn` the result comes last.
  using Entry = void (*)(void* const* places, const std::int64_t* const* extents);

  std::string header;  ///< as emitted code includes it: relative to the program's folder
  std::string name;
  std::vector<Parameter> parameters;
  bool is_kernel = false;
  Scalar result = Scalar::kF64;  ///< of a `fn`
  bool may_stop = true;          ///< a call may never end, or trap
  double operations = 1;         ///< of one call, a whole number: of a kernel per element of its largest operand

  /// The compiled function: given by whoever evaluates a program before it does so (no part of the meaning, and never
  /// copied to text).
  mutable Entry entry = nullptr;
  /// What keeps `entry` valid.
  mutable std::shared_ptr<void> library = nullptr;
};
using ForeignRef = std::shared_ptr<const Foreign>;

/// `foreign "kernels.hpp" "gelu" …`, for the text form; reads back.
[[nodiscard]] std::string text_of(const Foreign& foreign);

}  // namespace tdsl::ir
