#pragma once

#include "tests/unit/plan/regions.h"

// Programs with known optimal plans.

namespace tdsl::tests::regions {

using plan::Index;
using plan::Region;
using plan::TensorId;

/// Five steps of Newton's method for logistic regression.
inline Region newton(Index n, Index d, double steps) {
  RegionWriter r({{'i', n}, {'j', d}, {'k', d}});
  const TensorId X = r.load("X", "ij"), y = r.load("y", "i");
  TensorId w = r.constant("w", "j");
  const int body = r.next_site();
  for (const double weight : {1.0, steps - 1}) {
    r.weigh(weight, body);
    const TensorId z = r.op("z", "i", {{X, "ij"}, {w, "j"}});
    const TensorId p = r.op("p", "i", {{z, "i"}});
    const TensorId e = r.op("e", "i", {{p, "i"}, {y, "i"}});
    const TensorId g0 = r.op("g0", "j", {{X, "ij"}, {e, "i"}});
    const TensorId g = r.op("g", "j", {{g0, "j"}, {w, "j"}});
    const TensorId Hs = r.op("Hs", "jk", {{X, "ij"}, {p, "i"}, {X, "ik"}});
    const TensorId H = r.op("H", "jk", {{Hs, "jk"}});
    const TensorId s = r.whole("s", "j", {H, g});
    w = r.op("w", "j", {{w, "j"}, {s, "j"}});
  }
  return r.finish({X, y, w});
}

inline Region nearest(Index n, Index d) {
  RegionWriter r({{'i', n}, {'k', d}, {'l', d}});
  const TensorId X = r.load("X", "ik"), M = r.load("M", "lk"), q = r.load("q", "k");
  const TensorId F = r.op("F", "ik", {{q, "k"}, {X, "ik"}});
  const TensorId P = r.op("P", "ik", {{F, "il"}, {M, "lk"}});
  const TensorId S = r.op("S", "i", {{P, "ik"}, {F, "ik"}});
  const TensorId b = r.op("b", "", {{S, "i"}});
  r.op("a", "", {{S, "i"}, {b, ""}});
  return r.finish();
}

inline Region sum_and_gram(Index n, Index d) {
  RegionWriter r({{'i', n}, {'j', d}, {'k', d}});
  const TensorId X = r.load("X", "ij"), Y = r.load("Y", "ij");
  const TensorId Z = r.op("Z", "ij", {{X, "ij"}, {Y, "ij"}});
  const TensorId C = r.op("C", "jk", {{Z, "ij"}, {Y, "ik"}});
  return r.finish({Z, C});
}

/// (A B) + (C (D E))
inline Region chain(Index s, Index t, Index u) {
  RegionWriter r({{'i', s}, {'j', s}, {'k', t}, {'t', t}, {'u', u}});
  const TensorId A = r.load("A", "ik"), B = r.load("B", "kj"), C = r.load("C", "it"), D = r.load("D", "tu"),
                 E = r.load("E", "uj");
  const TensorId DE = r.op("DE", "tj", {{D, "tu"}, {E, "uj"}});
  const TensorId CDE = r.op("CDE", "ij", {{C, "it"}, {DE, "tj"}});
  const TensorId AB = r.op("AB", "ij", {{A, "ik"}, {B, "kj"}});
  const TensorId R = r.op("R", "ij", {{AB, "ij"}, {CDE, "ij"}});
  return r.finish({R});
}

inline Region network_step(Index n, Index m, Index h, Index o) {
  RegionWriter r({{'i', n}, {'m', m}, {'j', h}, {'o', o}});
  const TensorId X = r.load("X", "im"), Y = r.load("Y", "io"), V1 = r.load("V1", "mj"), V2 = r.load("V2", "jo");
  const TensorId Z = r.op("Z", "ij", {{X, "im"}, {V1, "mj"}});
  const TensorId H = r.op("H", "ij", {{Z, "ij"}});
  const TensorId P = r.op("P", "io", {{H, "ij"}, {V2, "jo"}});
  const TensorId E = r.op("E", "io", {{P, "io"}, {Y, "io"}});
  const TensorId Q = r.op("Q", "ij", {{E, "io"}, {V2, "jo"}});
  const TensorId D = r.op("D", "ij", {{Z, "ij"}, {Q, "ij"}});
  const TensorId G2 = r.op("G2", "jo", {{H, "ij"}, {E, "io"}});
  const TensorId V2n = r.op("V2n", "jo", {{V2, "jo"}, {G2, "jo"}});
  const TensorId G1 = r.op("G1", "mj", {{X, "im"}, {D, "ij"}});
  const TensorId V1n = r.op("V1n", "mj", {{V1, "mj"}, {G1, "mj"}});
  return r.finish({V1n, V2n});
}

inline Region mttkrp(Index n, Index f) {
  RegionWriter r({{'i', n}, {'j', n}, {'k', n}, {'q', f}});
  const TensorId X = r.load("X", "ijk"), B = r.load("B", "jq"), C = r.load("C", "kq");
  const TensorId M = r.op("M", "iq", {{X, "ijk"}, {B, "jq"}, {C, "kq"}});
  return r.finish({M});
}

inline Region mttkrp_in_two(Index n, Index f) {
  RegionWriter r({{'i', n}, {'j', n}, {'k', n}, {'q', f}});
  const TensorId X = r.load("X", "ijk"), B = r.load("B", "jq"), C = r.load("C", "kq");
  const TensorId U = r.op("U", "ijq", {{X, "ijk"}, {C, "kq"}});
  const TensorId M = r.op("M", "iq", {{U, "ijq"}, {B, "jq"}});
  return r.finish({M});
}

/// A transformer block: attention with g heads, its projection and two layers, each with its residual connection.
inline Region transformer(Index s, Index d, Index g, Index e, Index f) {
  RegionWriter r({{'i', s}, {'j', s}, {'k', d}, {'n', d}, {'h', g}, {'c', e}, {'l', f}});
  const TensorId X = r.load("X", "ik"), Wq = r.load("Wq", "khc"), Wk = r.load("Wk", "khc"), Wv = r.load("Wv", "khc");
  const TensorId Wo = r.load("Wo", "hck"), W1 = r.load("W1", "kl"), W2 = r.load("W2", "lk");
  const TensorId Q = r.op("Q", "hic", {{X, "ik"}, {Wq, "khc"}});
  const TensorId K = r.op("K", "hic", {{X, "ik"}, {Wk, "khc"}});
  const TensorId S = r.op("S", "hij", {{Q, "hic"}, {K, "hjc"}});
  const TensorId top = r.op("top", "hi", {{S, "hij"}});
  const TensorId W = r.op("W", "hij", {{S, "hij"}, {top, "hi"}});
  const TensorId sum = r.op("sum", "hi", {{W, "hij"}});
  const TensorId P = r.op("P", "hij", {{W, "hij"}, {sum, "hi"}});
  const TensorId V = r.op("V", "hic", {{X, "ik"}, {Wv, "khc"}});
  const TensorId O = r.op("O", "hic", {{P, "hij"}, {V, "hjc"}});
  const TensorId B = r.op("B", "ik", {{O, "hic"}, {Wo, "hck"}});
  const TensorId Y = r.op("Y", "ik", {{X, "ik"}, {B, "ik"}});
  const TensorId U = r.op("U", "il", {{Y, "ik"}, {W1, "kl"}});
  const TensorId A = r.op("A", "il", {{U, "il"}});
  const TensorId C = r.op("C", "ik", {{A, "il"}, {W2, "lk"}});
  const TensorId Z = r.op("Z", "ik", {{Y, "ik"}, {C, "ik"}});
  return r.finish({Z});
}

inline Region product(Index n, Index k, Index m) {
  RegionWriter r({{'i', n}, {'k', k}, {'j', m}});
  const TensorId A = r.load("A", "ik"), B = r.load("B", "kj");
  const TensorId C = r.op("C", "ij", {{A, "ik"}, {B, "kj"}});
  return r.finish({C});
}

inline Region matrix_vector(Index n, Index d) {
  RegionWriter r({{'i', n}, {'j', d}});
  const TensorId X = r.load("X", "ij"), b = r.load("b", "j");
  const TensorId y = r.op("y", "i", {{X, "ij"}, {b, "j"}});
  return r.finish({y});
}

}  // namespace tdsl::tests::regions
