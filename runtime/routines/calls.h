#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "runtime/app/session/session.h"
#include "runtime/routines/algorithms/routine.h"
#include "runtime/routines/kernels/make.h"

// Library routines as called by emitted programs: results, operands, numbers, and the call site. Operands without
// further uses are moved in. algorithms/routine.h documents recorded operations and the meaning of results. The
// functions are inline, so that a program links only the kernels of the routines that it calls.

namespace tdsl::rt::routines {

/// Destination of a result and its display name; empty if the result is not requested.
struct Into {
  Into() = default;
  Into(TensorHandle& into, std::string_view its_name) : tensor(&into), name(its_name) {}

  TensorHandle* tensor = nullptr;
  std::string_view name;
};

/// Records the call in the session and stores its requested results.
void carry_out(Session& session, Call& call, std::initializer_list<Into> results, MakeKernel make);

template <class... Operand>
void matrix_call(Session& session, Routine routine, std::initializer_list<Into> results, const Site& site,
                 Operand... operands) {
  Call call{routine, {}, {}, site};
  (call.operands.push_back(std::move(operands)), ...);
  carry_out(session, call, results, make_matrix_kernel);
}

inline void line_call(Session& session, Routine routine, std::initializer_list<Into> results, const Site& site,
                      TensorHandle a, Index axis, Index count = 0) {
  Call call{routine, {}, {}, site, axis, count};
  call.operands.push_back(std::move(a));
  carry_out(session, call, results, make_line_kernel);
}

inline void cumsum(Session& session, Into sums, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kCumsum, {sums}, site, std::move(a), axis);
}
inline void cumprod(Session& session, Into results, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kCumprod, {results}, site, std::move(a), axis);
}
inline void cummax(Session& session, Into results, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kCummax, {results}, site, std::move(a), axis);
}
inline void cummin(Session& session, Into results, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kCummin, {results}, site, std::move(a), axis);
}
inline void sort(Session& session, Into sorted, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kSort, {sorted}, site, std::move(a), axis);
}
inline void argsort(Session& session, Into order, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kArgsort, {order}, site, std::move(a), axis);
}
inline void topk(Session& session, Into values, Into positions, TensorHandle a, Index axis, Index count,
                 const Site& site) {
  line_call(session, Routine::kTopk, {values, positions}, site, std::move(a), axis, count);
}

/// The slices of `a` along `axis` where the vector `mask` holds, then the others; `count` of them.
inline void filter(Session& session, Into kept, TensorHandle a, TensorHandle mask, Index axis, Index count,
                   const Site& site) {
  Call call{Routine::kFilter, {}, {}, site, axis, count};
  call.operands.push_back(std::move(a));
  call.operands.push_back(std::move(mask));
  carry_out(session, call, {kept}, make_line_kernel);
}

/// Fourier transforms along `axis`; the extent of the result of `irfft` there is n.
inline void fourier_call(Session& session, Routine routine, Into result, const Site& site, TensorHandle a, Index axis,
                         FourierScale scale, Index n = 0) {
  Call call{routine, {}, {}, site, axis, n, SolveKind::kGeneral, scale};
  call.operands.push_back(std::move(a));
  carry_out(session, call, {result}, make_fourier_kernel);
}
inline void fft(Session& session, Into result, TensorHandle a, Index axis, FourierScale scale, const Site& site) {
  fourier_call(session, Routine::kFft, result, site, std::move(a), axis, scale);
}
inline void ifft(Session& session, Into result, TensorHandle a, Index axis, FourierScale scale, const Site& site) {
  fourier_call(session, Routine::kIfft, result, site, std::move(a), axis, scale);
}
inline void rfft(Session& session, Into result, TensorHandle a, Index axis, FourierScale scale, const Site& site) {
  fourier_call(session, Routine::kRfft, result, site, std::move(a), axis, scale);
}
inline void irfft(Session& session, Into result, TensorHandle a, Index axis, FourierScale scale, Index n,
                  const Site& site) {
  fourier_call(session, Routine::kIrfft, result, site, std::move(a), axis, scale, n);
}

inline void cholesky(Session& session, Into lower, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kCholesky, {lower}, site, std::move(a));
}
inline void lu(Session& session, Into rows, Into lower, Into upper, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kLu, {rows, lower, upper}, site, std::move(a));
}
inline void qr(Session& session, Into q, Into r, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kQr, {q, r}, site, std::move(a));
}
inline void svd(Session& session, Into u, Into s, Into v, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kSvd, {u, s, v}, site, std::move(a));
}
inline void eigh(Session& session, Into values, Into vectors, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kEigh, {values, vectors}, site, std::move(a));
}
inline void eig(Session& session, Into values, Into vectors, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kEig, {values, vectors}, site, std::move(a));
}
inline void inv(Session& session, Into inverse, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kInv, {inverse}, site, std::move(a));
}
inline void det(Session& session, Into determinant, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kDet, {determinant}, site, std::move(a));
}
inline void solve(Session& session, Into x, TensorHandle a, TensorHandle b, const Site& site) {
  matrix_call(session, Routine::kSolve, {x}, site, std::move(a), std::move(b));
}
inline void solve(Session& session, Into x, TensorHandle a, TensorHandle b, SolveKind kind, const Site& site) {
  Call call{Routine::kSolve, {}, {}, site, 0, 0, kind};
  call.operands.push_back(std::move(a));
  call.operands.push_back(std::move(b));
  carry_out(session, call, {x}, make_matrix_kernel);
}
inline void lstsq(Session& session, Into x, TensorHandle a, TensorHandle b, const Site& site) {
  matrix_call(session, Routine::kLstsq, {x}, site, std::move(a), std::move(b));
}

}  // namespace tdsl::rt::routines
