"""Triangles by SciPy's products, and by hand for two small graphs."""
import numpy as np
import scipy.sparse as sp


def twin(a):
    n = len(a.A)
    A = sp.csr_matrix(a.A.astype(np.int64))
    on_edge = (A @ A).multiply(A)
    around = np.asarray(on_edge.sum(axis=1)).reshape(n) // 2
    triangles = around.sum() // 3
    degree = a.A.sum(axis=1)
    if n == 6:  # 0, 1, 2 and 1, 2, 3, sharing edge 1, 2; 4 is attached to 3, and 5 is isolated
        assert triangles == 2 and around.tolist() == [1, 2, 2, 1, 0, 0]
    if n == 34:  # the karate club has 45
        assert triangles == 45
    pairs = (degree * (degree - 1)).sum() / 2
    support = np.tril(on_edge.toarray())
    return {"triangles": triangles, "around": around, "clustering": np.divide(2.0 * around, degree * (degree - 1), out=np.zeros(n), where=degree > 1),
            "transitivity": 3 * triangles / pairs if pairs else 0.0, "support": support, "strongest": support.max(initial=0)}
