#include "runtime/routines/call.h"
#include "runtime/routines/calls.h"
#include "runtime/routines/kernels/make.h"

namespace tdsl::rt::routines {

namespace {

void line_call(Session& session, Routine routine, std::initializer_list<Into> results, TensorHandle a, Index axis,
               Index count, const Site& site) {
  Call call{routine, {}, {}, site, axis, count};
  call.operands.push_back(std::move(a));
  carry_out(session, call, results, make_line_kernel);
}

}  // namespace

void cumsum(Session& session, Into sums, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kCumsum, {sums}, std::move(a), axis, 0, site);
}
void sort(Session& session, Into sorted, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kSort, {sorted}, std::move(a), axis, 0, site);
}
void argsort(Session& session, Into order, TensorHandle a, Index axis, const Site& site) {
  line_call(session, Routine::kArgsort, {order}, std::move(a), axis, 0, site);
}
void topk(Session& session, Into values, Into positions, TensorHandle a, Index axis, Index count, const Site& site) {
  line_call(session, Routine::kTopk, {values, positions}, std::move(a), axis, count, site);
}

}  // namespace tdsl::rt::routines
