#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

// Declares all passes, each with a short before/after. The .cpp file of the same name documents its rules,
// preconditions and postconditions. Every pass takes a verified program and returns a verified one.

namespace tdsl::passes {

// algebra/

/// `s = sum(x * x); g = gradient s (x)` becomes `g[i] = 2 x[i]`.
[[nodiscard]] ir::Program differentiate(const ir::Program& program, PassContext& context);
/// `mul(mul(%1[i], 1.0), mul(2.0, 3.0))` becomes `mul(%1[i], 6.0)`.
[[nodiscard]] ir::Program simplify(const ir::Program& program, PassContext& context);
/// Removes unused tensors and unused loop-carried values.
[[nodiscard]] ir::Program dead_code(const ir::Program& program, PassContext& context);
/// `T = A'; sum[j](T[i, j] * B[j, k])` becomes `sum[j](A[j, i] * B[j, k])`.
[[nodiscard]] ir::Program copy_propagation(const ir::Program& program, PassContext& context);
/// `S = X + Y; d[i] = S[i, i]` becomes `d[i] = X[i, i] + Y[i, i]`; `T = A @ B; R[j, i] = T[i, j]` becomes
/// `R[j, i] = sum[k](A[i, k] * B[k, j])`.
[[nodiscard]] ir::Program compose_reads(const ir::Program& program, PassContext& context);
/// `p = topk(c).positions; y[k] = x[p[k]]` of a vector of bools c becomes `y = routine filter (x, c)`.
[[nodiscard]] ir::Program filters(const ir::Program& program, PassContext& context);
/// `sum[k]((X[k, i] - m[i]) * X[k, j])` becomes `T = X - m; sum[k](T[k, i] * X[k, j])`.
[[nodiscard]] ir::Program contractions(const ir::Program& program, PassContext& context);
/// `Z[i, j] = X[i, j] / sqrt(v[j])` becomes `s = sqrt(v); Z[i, j] = X[i, j] / s[j]`.
[[nodiscard]] ir::Program repeated_parts(const ir::Program& program, PassContext& context);
/// `sum[j](B[j, k] * A[i, j])` becomes `sum[j](A[i, j] * B[j, k])`.
[[nodiscard]] ir::Program canonicalise(const ir::Program& program, PassContext& context);
/// `E = exp(x); F = exp(x)` becomes `E = exp(x)`, used twice.
[[nodiscard]] ir::Program common_subexpressions(const ir::Program& program, PassContext& context);
/// `(A @ B) @ x` becomes `A @ (B @ x)`.
[[nodiscard]] ir::Program chain_order(const ir::Program& program, PassContext& context);
/// `A @ B' @ C` becomes `chain [m, k, l, n] (A, B', C)`; `sum[j, k](X[i, j, k] * B[j, r] * C[k, r])` becomes the same
/// `in any order`.
[[nodiscard]] ir::Program start_choices(const ir::Program& program, PassContext& context);

// loops/

/// `for i in 0..n { check i <= n; … }` becomes `for i in 0..n { … }`.
[[nodiscard]] ir::Program proved_checks(const ir::Program& program, PassContext& context);
/// `for i, j { C[i, j] = …; C[j, i] = C[i, j]; }` becomes `for i, j { C[i, j] = …; } for i, j { C[j, i] = C[i, j]; }`.
[[nodiscard]] ir::Program schedule_loops(const ir::Program& program, PassContext& context);
/// `for i { y[i] = 2.0 * x[i] }` becomes `compute [i in 0..n] (mul(2.0, x[i])) left [i] base y`.
[[nodiscard]] ir::Program loops_to_algebra(const ir::Program& program, PassContext& context);
/// `compute [i in 0..n] (…) left [i] base y` becomes `compute [i in 0..n] (…)`.
[[nodiscard]] ir::Program updates(const ir::Program& program, PassContext& context);
/// `sum[j](x[j]) where abs(i - j) <= b` becomes `sum[j in 0..2 b + 1](x[i + j - b])`.
[[nodiscard]] ir::Program bands(const ir::Program& program, PassContext& context);
/// `sum[k in 0..a * b](A[i, k / b, k % b])` becomes `sum[k in 0..a, k1 in 0..b](A[i, k, k1])`.
[[nodiscard]] ir::Program split_labels(const ir::Program& program, PassContext& context);
/// `for t { R = A @ B; … }` becomes `R = A @ B; for t { … }`.
[[nodiscard]] ir::Program loop_invariants(const ir::Program& program, PassContext& context);
/// `sum[a in 0..3](x[mod(i + a - 1, n)])` becomes `0.0 + x[mod(i - 1, n)] + x[i] + x[mod(i + 1, n)]`.
[[nodiscard]] ir::Program neighbours(const ir::Program& program, PassContext& context);
/// `for i { x[i] = x[i - 1] + y[i] }` becomes the same loop, marked `serial`: one task.
[[nodiscard]] ir::Program serial_loops(const ir::Program& program, PassContext& context);

// fusion/

/// `r = x - y; s = sum(r * r)` becomes `s = sum[i]((x[i] - y[i]) * (x[i] - y[i]))`.
[[nodiscard]] ir::Program fusion(const ir::Program& program, PassContext& context);
/// `u[i] = sum[j](X[i, j] * v[j]); y[j] = sum[i](X[i, j] * u[i])` becomes `fused [i] { u = …; y = … }`.
[[nodiscard]] ir::Program fuse_rows(const ir::Program& program, PassContext& context);
/// `sum[k where lo[b] <= x[k] && x[k] < hi[b]](d[k])` becomes `sum[k where b == bin[k]](d[k])` if bounds ascend.
[[nodiscard]] ir::Program bins(const ir::Program& program, PassContext& context);
/// `a = sum[i](x[i] * y[i]); b = max[i](x[i])` becomes `a, b = fused [i] { a = …; b = … }`.
[[nodiscard]] ir::Program merge_rows(const ir::Program& program, PassContext& context);
/// `d = x - m; sum(d * d); max(abs(d))` becomes `sum[i]((x[i] - m) * (x[i] - m)); max[i](abs(x[i] - m))`.
[[nodiscard]] ir::Program shared_maps(const ir::Program& program, PassContext& context);
/// `P[i, j] = sum[k](X[i, k] * W[k, j]); Y[i, j] = relu(P[i, j] + b[j])` becomes `epilogue [i, j] { P = …; Y = … }`.
[[nodiscard]] ir::Program epilogues(const ir::Program& program, PassContext& context);
/// `sum[j](%A[i, j] * Q[k, j])`, A compressed, becomes `T = Q'; sum[j](%A[i, j] * T[j, k])`.
[[nodiscard]] ir::Program row_reads(const ir::Program& program, PassContext& context);
/// `u[i] = sum[j](X[i, j] * v[j]); y[j] = sum[i](X[i, j] * u[i])`, X compressed, becomes `fused [i] { u = …; y = … }`.
[[nodiscard]] ir::Program stored_nests(const ir::Program& program, PassContext& context);

// sparse/

/// `sum[j](mul(%A[i, j], %x[j]))`, A of a sparse type, becomes `sum[j](absent_mul(%A[i, j], %x[j]))`.
[[nodiscard]] ir::Program absence(const ir::Program& program, PassContext& context);
/// `sum[j](absent_mul(%A[i, j], %x[j]))`, A of a sparse type, becomes the same, A's format compressed.
[[nodiscard]] ir::Program storage(const ir::Program& program, PassContext& context);
/// `max(A)` becomes `t = max[i, j where A[i, j] != 0](A[i, j]); if nnz(A) < n * m then max(t, 0) else t`. A step
/// of `storage`.
[[nodiscard]] ir::Program background(const ir::Program& program, PassContext& context);
/// `T = U @ V'; sum(A * log(T))` becomes the same, T compressed and computed at the elements of A only.
[[nodiscard]] ir::Program sampling(const ir::Program& program, PassContext& context);
/// `exp(%A[i, j])`, A compressed, becomes `D[i, j] = %A[i, j]; exp(%D[i, j])`.
[[nodiscard]] ir::Program dense_copies(const ir::Program& program, PassContext& context);
/// `sum[j](absent_mul(%A[i, j], %x[j]))`, A compressed, becomes the same `stored [i over %A[i, j], j over %A[i, j]]`.
[[nodiscard]] ir::Program iteration(const ir::Program& program, PassContext& context);
/// `%A`, a compressed input whose readers run once per distinct value of a column, becomes coded.
[[nodiscard]] ir::Program coding(const ir::Program& program, PassContext& context);
/// No rewrite: warns `[dense-storage]` about every tensor of a sparse type that stores all of its elements, with the
/// reason. `dense_copies` has already warned about dense copies.
void warn_of_dense_storage(const ir::Program& program, PassContext& context);

// legalise/

/// `R[mod(i + 1, n)] = x[i]` becomes `R[i] = x[mod(i - 1, n)]`.
[[nodiscard]] ir::Program periodic_stores(const ir::Program& program, PassContext& context);
/// `K[i * c + k] = A[i, k]` becomes `K[e] = A[e / c, e % c]`.
[[nodiscard]] ir::Program flat_stores(const ir::Program& program, PassContext& context);
/// `compute [i, j] (…) left [i] combine sum` becomes `compute [i] sum[j] (…) left [i] combine sum`.
[[nodiscard]] ir::Program stores(const ir::Program& program, PassContext& context);
/// `compute [i] (w[i]) left [p[i]] base H combine sum` becomes `T = compute [i] (w[i]) left [p[i]] combine sum; H + T`.
[[nodiscard]] ir::Program scatters(const ir::Program& program, PassContext& context);
/// `sum[j](A[i, j])` combined by `max` with a base becomes `v = sum[j](A[i, j]); max(base, v)`.
[[nodiscard]] ir::Program reductions(const ir::Program& program, PassContext& context);
/// `x[mod(i - 1, n)]` becomes `select(i - 1 >= 0, x[i - 1], x[i - 1 + n])`, `x[edge(i - 1, n)]` becomes `select(i - 1
/// >= 0, x[i - 1], x[edge(i - 1, n)])`.
[[nodiscard]] ir::Program boundary_reads(const ir::Program& program, PassContext& context);
/// `A[p[i]] + B[q[i]]` becomes `g[i] = A[p[i]]; g[i] + B[q[i]]`.
[[nodiscard]] ir::Program gathers(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
