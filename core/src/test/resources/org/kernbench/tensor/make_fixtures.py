"""Writes the fixtures of NpyTest with NumPy itself; run in this directory (made with NumPy 2.4.6)."""

import numpy as np
from numpy.lib import format as npy

np.save("f16.npy", np.arange(6, dtype="<f2").reshape(2, 3) / 8)
np.save("f32-scalar.npy", np.float32(-2.5))
np.save("i64.npy", np.array([-1, 2**62, 3], dtype="<i8"))
np.save("bool-empty.npy", np.zeros((0, 4), dtype=bool))
np.save("i8.npy", np.arange(-3, 4, dtype="i1"))
np.save("i32-fortran.npy", np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4)))
np.save("f32-big-endian.npy", np.array([[1.5, -2], [3, np.inf]], dtype=">f4"))
np.save("f64.npy", np.array([1.0]))
np.save("complex.npy", np.array([1 + 2j], dtype="<c8"))
np.save("structured.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
with open("f16-version2.npy", "wb") as file:
    npy.write_array(file, np.array([1, 2], dtype="<f2"), version=(2, 0))
np.savez_compressed("two.npz", first=np.arange(3, dtype="<i4"), second=np.float16([[0.5]]))
