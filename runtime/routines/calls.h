#pragma once

#include <string_view>

#include "runtime/app/session/session.h"
#include "runtime/routines/algorithms/site.h"

// Library routines as called by emitted programs: results, operands, numbers, and the call site. Operands without
// further uses are moved in. algorithms/routine.h documents recorded operations and the meaning of results.

namespace tdsl::rt::routines {

/// Destination of a result and its display name; empty if the result is not requested.
struct Into {
  Into() = default;
  Into(TensorHandle& into, std::string_view its_name) : tensor(&into), name(its_name) {}

  TensorHandle* tensor = nullptr;
  std::string_view name;
};

void cumsum(Session& session, Into sums, TensorHandle a, Index axis, const Site& site);
void sort(Session& session, Into sorted, TensorHandle a, Index axis, const Site& site);
void argsort(Session& session, Into order, TensorHandle a, Index axis, const Site& site);
void topk(Session& session, Into values, Into positions, TensorHandle a, Index axis, Index count, const Site& site);

void cholesky(Session& session, Into lower, TensorHandle a, const Site& site);
void lu(Session& session, Into rows, Into lower, Into upper, TensorHandle a, const Site& site);
void qr(Session& session, Into q, Into r, TensorHandle a, const Site& site);
void svd(Session& session, Into u, Into s, Into v, TensorHandle a, const Site& site);
void eigh(Session& session, Into values, Into vectors, TensorHandle a, const Site& site);
void inv(Session& session, Into inverse, TensorHandle a, const Site& site);
void det(Session& session, Into determinant, TensorHandle a, const Site& site);
void solve(Session& session, Into x, TensorHandle a, TensorHandle b, const Site& site);
void lstsq(Session& session, Into x, TensorHandle a, TensorHandle b, const Site& site);

}  // namespace tdsl::rt::routines
