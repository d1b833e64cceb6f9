#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/algebra/keys.h"

namespace tdsl::ir::algebra {

/// The extents of one dense array; rank 0 is a scalar.
using Bounds = std::vector<Index>;
/// The block type of a relation's tuples: one array, or several (a pair, a value with its position).
using BlockType = std::vector<Bounds>;
/// The number of floats in a block.
[[nodiscard]] Index floats_of(const BlockType& block);
/// `[2, 3]`, of several `[2, 3] [2]`.
[[nodiscard]] std::string block_text(const BlockType& block);

/// A function from the arrays of a block, or of the two blocks of a join concatenated, to the arrays of a block.
///   relu relugrad sigmoid neg scale(c) shift(c)   element by element; relugrad is 1 where the element is positive
///   transpose diag sum(d)                         of a matrix; its diagonal; the sum along block dimension d
///   add sub mul min max                           element by element, extents of 1 broadcast; of 2n arrays, array i
///                                                 with n + i
///   matmul matmul_tn matmul_nt                    products of two matrices, one of which may be read transposed
///   einsum("ij,jf->if")                           a product of any number of arrays, summed over the omitted labels
///   pair item(i)                                  all arrays unchanged; one of them
///   argmin minindex                               (values, positions) -> (least value, its position), ties to the
///                                                 least position; the lesser of two such pairs
///   call("name", [2, 3], [2])                     a function with known name and result type only
struct Kernel {
  enum class Kind : std::uint8_t {
    kRelu,
    kReluGrad,
    kSigmoid,
    kNeg,
    kScale,
    kShift,
    kTranspose,
    kDiag,
    kSum,
    kAdd,
    kSub,
    kMul,
    kMin,
    kMax,
    kMatmul,
    kMatmulTn,
    kMatmulNt,
    kEinsum,
    kPair,
    kItem,
    kArgmin,
    kMinIndex,
    kCall
  } kind = Kind::kPair;
  double number = 0;  ///< kScale, kShift: the constant
  int position = 0;   ///< kSum: block dimension; kItem: array
  std::string text;   ///< kEinsum: labels; kCall: name
  BlockType result;   ///< kCall only

  friend bool operator==(const Kernel& a, const Kernel& b) = default;
};
/// Applied first to last; empty is the identity.
using Kernels = std::vector<Kernel>;

/// The text form of kernels: `scale(2)`, `relu then scale(2)`.
[[nodiscard]] std::string kernel_text(const Kernel& kernel);
[[nodiscard]] std::string kernels_text(const Kernels& kernels);
[[nodiscard]] std::string_view name_of(Kernel::Kind kind);

/// The type of the result. Throws AlgebraError if the operands are incompatible.
[[nodiscard]] BlockType result_of(const Kernel& kernel, const BlockType& operands);
[[nodiscard]] BlockType result_of(const Kernels& kernels, const BlockType& operands);

/// The labels of a product of arrays, `ik,kj->ij`: one text per operand, and the result's.
struct Labels {
  std::vector<std::string> operands;
  std::string result;
};
/// Of the matrix products and of einsum; nothing for other kernels. Throws AlgebraError on malformed text.
[[nodiscard]] std::optional<Labels> labels_of(const Kernel& kernel);

// Properties. "Zero" is a block whose elements are all 0.

/// Usable in an aggregation: its result has the operands' type and is independent of order and grouping. Calls are
/// trusted.
[[nodiscard]] bool aggregates(const Kernel& kernel);
/// A zero operand leaves the other one unchanged.
[[nodiscard]] bool zero_is_identity(const Kernel& kernel);
/// Zero for zero operands.
[[nodiscard]] bool keeps_zero(const Kernel& kernel);
[[nodiscard]] bool keeps_zero(const Kernels& kernels);
/// Zero if any operand is zero.
[[nodiscard]] bool zero_annihilates(const Kernel& kernel);
/// f(op(a, b)) = op(f(a), f(b)) for all blocks a and b of one type. Known for the cases listed in `distributes`; false
/// if unknown.
[[nodiscard]] bool distributes(const Kernel& f, const Kernel& op);
[[nodiscard]] bool distributes(const Kernels& f, const Kernel& op);

}  // namespace tdsl::ir::algebra
