#pragma once

#include "runtime/hdf5/identifiers.h"

namespace tdsl::rt::hdf5 {

struct StoredType {
  char kind;  ///< as in NpyHeader
  int bytes;
  bool swapped;  ///< byte order differs from this machine's
};
/// Throws std::runtime_error with the type if tensors do not support it.
[[nodiscard]] StoredType stored_type(hid_t type);
/// The type in this machine's representation; not for bool.
[[nodiscard]] Identifier native_type(char kind, int bytes);
/// In this machine's byte order; bool is the enumeration that h5py reads as bool, complex numbers are compounds of `r`
/// and `i`.
[[nodiscard]] Identifier written_type(char kind, int bytes);

}  // namespace tdsl::rt::hdf5
