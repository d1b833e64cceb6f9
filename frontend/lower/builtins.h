#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "frontend/lower/lowerer.h"

namespace tdsl::frontend {

/// A built-in function with one result.
using Single = Tensor(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// A built-in function with several results, for `let (a, b) =` and `(a, b) =` only.
using Several = std::vector<Tensor>(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
using Builtin = std::variant<Single*, Several*, ir::UnaryOp, Reducer, ir::BinaryOp>;

struct BuiltinEntry {
  Builtin function;
  bool soft = false;  ///< a function, monoid or import of that name hides it
};

/// All built-in functions by name.
[[nodiscard]] const std::map<std::string, BuiltinEntry>& builtins();
/// Words with a meaning of their own where no variable or dimension has the name: `pi`, `newaxis`, option words.
[[nodiscard]] bool is_contextual_word(const std::string& name);
/// The built-in function of that name and kind, or null.
template <typename Kind>
[[nodiscard]] const Kind* builtin(const std::string& name) {
  const auto found = builtins().find(name);
  return found == builtins().end() ? nullptr : std::get_if<Kind>(&found->second.function);
}
/// Adds the names of the built-in functions of that kind, in alphabetical order.
template <typename Kind>
void add_builtins(std::vector<std::string>& names) {
  for (const auto& [name, entry] : builtins()) {
    if (std::holds_alternative<Kind>(entry.function)) names.push_back(name);
  }
}

Single call_where, call_nnz, call_dense, call_sparse, call_clip, call_isfinite, call_isclose, call_cast;
Single call_stack, call_tile, call_repeat, call_flatten, call_take, call_kron, call_diff;
Single call_complex, call_polar;
Single call_variance, call_quantile;
Single call_searchsorted, call_interp, call_histogram, call_bincount;
Single call_filter, call_unique;
Several call_nonzero, call_groups, call_join;
Single call_linspace, call_like, call_zeros, call_full, call_eye, call_iota, call_random, call_randint,
    call_permutation, call_sprandom;
Single call_transpose, call_size, call_outer, call_diag, call_trace, call_triangle, call_flip, call_roll, call_concat,
    call_reshape, call_pad;
Single call_einsum;
Single call_cumsum, call_sort, call_solve, call_square;
Single call_fft, call_rfft, call_irfft, call_fftfreq, call_fftshift;
Several call_topk, call_lu, call_qr, call_svd, call_eigh, call_eig;
Single call_grad;
Several call_gradient;

}  // namespace tdsl::frontend
