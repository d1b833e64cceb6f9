"""The circuit on a tensor with a dimension per qubit."""
import numpy as np


def twin(a):
    q, angle = int(a.qubits), float(a.field) * float(a.dt)
    gate = np.array([[np.cos(angle), -1j * np.sin(angle)], [-1j * np.sin(angle), np.cos(angle)]])
    spins = np.stack([np.broadcast_to(np.array([1.0, -1.0]).reshape([2 if k == t else 1 for k in range(q)]), (2,) * q) for t in range(q)])
    energy = (spins[1:] * spins[:-1]).sum(axis=0)
    psi = np.zeros((2,) * q, complex)
    psi[tuple(int(t == q - 1 - q // 2) for t in range(q))] = 1
    z = []
    for _ in range(int(a.steps)):
        psi = psi * np.exp(1j * float(a.dt) * energy)
        for t in range(q):
            psi = np.moveaxis(np.tensordot(gate, psi, (1, t)), 0, t)
        z.append([(np.abs(psi) ** 2 * spins[t]).sum() for t in range(q)])
    rows = 2 ** (q - q // 2)
    return {"psi": psi.reshape(rows, -1), "kept": np.linalg.norm(psi), "z": np.array(z)}
