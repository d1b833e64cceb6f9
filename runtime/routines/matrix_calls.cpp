#include "runtime/routines/call.h"
#include "runtime/routines/calls.h"
#include "runtime/routines/kernels/make.h"

namespace tdsl::rt::routines {

namespace {

void matrix_call(Session& session, Routine routine, std::initializer_list<Into> results, TensorHandle a,
                 const Site& site) {
  Call call{routine, {}, {}, site};
  call.operands.push_back(std::move(a));
  carry_out(session, call, results, make_matrix_kernel);
}

void system_call(Session& session, Routine routine, Into x, TensorHandle a, TensorHandle b, const Site& site) {
  Call call{routine, {}, {}, site};
  call.operands.push_back(std::move(a));
  call.operands.push_back(std::move(b));
  carry_out(session, call, {x}, make_matrix_kernel);
}

}  // namespace

void cholesky(Session& session, Into lower, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kCholesky, {lower}, std::move(a), site);
}
void lu(Session& session, Into rows, Into lower, Into upper, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kLu, {rows, lower, upper}, std::move(a), site);
}
void qr(Session& session, Into q, Into r, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kQr, {q, r}, std::move(a), site);
}
void svd(Session& session, Into u, Into s, Into v, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kSvd, {u, s, v}, std::move(a), site);
}
void eigh(Session& session, Into values, Into vectors, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kEigh, {values, vectors}, std::move(a), site);
}
void inv(Session& session, Into inverse, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kInv, {inverse}, std::move(a), site);
}
void det(Session& session, Into determinant, TensorHandle a, const Site& site) {
  matrix_call(session, Routine::kDet, {determinant}, std::move(a), site);
}
void solve(Session& session, Into x, TensorHandle a, TensorHandle b, const Site& site) {
  system_call(session, Routine::kSolve, x, std::move(a), std::move(b), site);
}
void lstsq(Session& session, Into x, TensorHandle a, TensorHandle b, const Site& site) {
  system_call(session, Routine::kLstsq, x, std::move(a), std::move(b), site);
}

}  // namespace tdsl::rt::routines
