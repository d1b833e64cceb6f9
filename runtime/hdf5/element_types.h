#pragma once

#include "runtime/hdf5/identifiers.h"

namespace tdsl::rt::hdf5 {

struct StoredType {
  char kind;  ///< as in NpyHeader
  int bytes;
  bool swapped;  ///< in the other byte order than this machine's
};
/// Throws std::runtime_error that names a type that no tensor has.
[[nodiscard]] StoredType stored_type(hid_t type);
/// This machine's; not of bool.
[[nodiscard]] hid_t native_type(char kind, int bytes);
/// In this machine's byte order; bool is the enumeration that h5py reads as one.
[[nodiscard]] Identifier written_type(char kind, int bytes);

}  // namespace tdsl::rt::hdf5
