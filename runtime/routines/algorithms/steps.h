#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/routines/algorithms/routine.h"

namespace tdsl::rt::routines {

using plan::at;
using plan::DimAccess;
using plan::fixed;
using plan::OpBuilder;
using plan::OpClass;
using plan::whole;

/// Building blocks of the algorithms. Recording places are numbered by hand: `place` is the number within the call.
class Steps {
 public:
  Steps(Caller& caller, Call& call) : caller_(caller), call_(call) {}

 protected:
  using Sizes = std::vector<Index>;
  /// Position of a submatrix's first element.
  struct Corner {
    Index row = 0;
    Index column = 0;
  };
  /// Columns [lo, hi) of one step of a factorisation.
  struct Block {
    Index lo;
    Index width;
    Index hi;
  };

  // --- Operands and results
  [[nodiscard]] TensorHandle& operand(std::size_t k) { return call_.operands[k]; }
  void release_operands() { call_.operands.clear(); }
  [[nodiscard]] ElementType element() const { return element_; }
  [[nodiscard]] Result& result(std::size_t k) { return call_.results[k]; }
  /// Display name of the result, `otherwise` if it has none.
  [[nodiscard]] std::string name(std::size_t k, std::string_view otherwise) const;
  [[nodiscard]] Index operand_bytes() const;

  // --- Operations
  [[nodiscard]] plan::OpBuilder op(plan::OpClass op_class, std::string_view name, int place) const;
  [[nodiscard]] TensorHandle compute(plan::OpBuilder& op, ElementType type, KernelName kernel, Sizes numbers = {});
  [[nodiscard]] TensorHandle contraction(plan::OpBuilder& op) {
    return compute(op, element_, KernelName::kContraction);
  }
  /// Limits how far ahead later operations may receive: at most one block column, whatever the window is.
  void one_panel_ahead(Index rows, Index width) {
    run_ahead_ = rows * width * static_cast<Index>(element_size(element_));
  }

  /// The `rows` x `columns` submatrix of `from` that begins at `corner`.
  [[nodiscard]] TensorHandle part(int place, std::string_view name, Index rows, Index columns, const TensorHandle& from,
                                  Corner corner);
  /// `into` with the submatrix (rows x columns) at `corner` replaced by `part`.
  [[nodiscard]] TensorHandle with_part(int place, const TensorHandle& into, Corner corner, const TensorHandle& part,
                                       Index rows, Index columns);
  [[nodiscard]] TensorHandle negative(int place, const TensorHandle& matrix);
  /// `into` plus the product of two matrices, added at `corner`. `transposed`: the right factor.
  [[nodiscard]] TensorHandle plus_product(int place, std::string_view name, const TensorHandle& into, Corner corner,
                                          const TensorHandle& left, const TensorHandle& right, bool transposed);
  /// Rows rows[first + i] of `from` for i < `count`, starting at `column`.
  [[nodiscard]] TensorHandle picked_rows(int place, std::string_view name, const TensorHandle& rows, Index first,
                                         Index count, const TensorHandle& from, Index column, Index columns);

  // --- Sizes

  /// Columns per step of a factorisation of `columns` columns, and the number of steps.
  [[nodiscard]] static Index block_width(Index columns);
  [[nodiscard]] static Index block_count(Index columns) { return plan::ceil_div(columns, block_width(columns)); }
  [[nodiscard]] static Block block(Index number, Index columns);

  // --- Control flow
  void loop(Index count, const std::function<void(Index)>& body);
  /// `branch`: its number within the call, used if the condition may be unknown at start.
  void either(record::Known known, int branch, bool condition, const std::function<void()>& form,
              const std::function<void()>& other);

  Caller& caller_;
  Call& call_;
  int batch_ = 0;  ///< leading dimensions of the batch that kernels work on

 private:
  const ElementType element_ = call_.operands.front().state().type;
  Index run_ahead_ = 0;
};

}  // namespace tdsl::rt::routines
