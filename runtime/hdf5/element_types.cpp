#include "runtime/hdf5/element_types.h"

#include <bit>
#include <cstdint>

namespace tdsl::rt::hdf5 {

namespace {

struct Numbers {
  char kind;
  int bytes;
  hid_t little, big, native;
};

/// The names in the table are macros that call the library.
template <class F>
void each_number(const F& f) {
  for (const Numbers& numbers : {Numbers{'i', 1, H5T_STD_I8LE, H5T_STD_I8BE, H5T_NATIVE_INT8},
                                 Numbers{'i', 2, H5T_STD_I16LE, H5T_STD_I16BE, H5T_NATIVE_INT16},
                                 Numbers{'i', 4, H5T_STD_I32LE, H5T_STD_I32BE, H5T_NATIVE_INT32},
                                 Numbers{'i', 8, H5T_STD_I64LE, H5T_STD_I64BE, H5T_NATIVE_INT64},
                                 Numbers{'u', 1, H5T_STD_U8LE, H5T_STD_U8BE, H5T_NATIVE_UINT8},
                                 Numbers{'u', 2, H5T_STD_U16LE, H5T_STD_U16BE, H5T_NATIVE_UINT16},
                                 Numbers{'u', 4, H5T_STD_U32LE, H5T_STD_U32BE, H5T_NATIVE_UINT32},
                                 Numbers{'u', 8, H5T_STD_U64LE, H5T_STD_U64BE, H5T_NATIVE_UINT64},
                                 Numbers{'f', 4, H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_NATIVE_FLOAT},
                                 Numbers{'f', 8, H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE}}) {
    f(numbers);
  }
}

/// FALSE = 0 and TRUE = 1 in one byte, as h5py writes bools.
bool is_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  std::int8_t no = -1, yes = -1;
  return H5Tenum_valueof(type, "FALSE", &no) >= 0 && H5Tenum_valueof(type, "TRUE", &yes) >= 0 && no == 0 && yes == 1;
}

std::string class_name(hid_t type) {
  const std::string bits = std::to_string(8 * H5Tget_size(type)) + " bits";
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return "integers of " + bits;
    case H5T_FLOAT: return "floating-point numbers of " + bits;
    case H5T_STRING: return "strings";
    case H5T_COMPOUND: return "records (or complex numbers)";
    case H5T_ENUM: return "an enumeration";
    case H5T_ARRAY: return "arrays as elements";
    case H5T_REFERENCE: return "references";
    default: return "no numbers";
  }
}

}  // namespace

StoredType stored_type(hid_t type) {
  if (is_bool(type)) return {'b', 1, false};
  StoredType found{'?', 0, false};
  each_number([&](const Numbers& numbers) {
    const bool little = H5Tequal(type, numbers.little) > 0, big = H5Tequal(type, numbers.big) > 0;
    if (little || big)
      found = {numbers.kind, numbers.bytes, numbers.bytes > 1 && big == (std::endian::native == std::endian::little)};
  });
  if (found.bytes == 0)
    throw std::runtime_error("it holds " + class_name(type) +
                             "; supported are bool (as h5py writes it), integers of 1 to 8 bytes, f32 and f64");
  return found;
}

hid_t native_type(char kind, int bytes) {
  hid_t found = -1;
  each_number([&](const Numbers& numbers) {
    if (numbers.kind == kind && numbers.bytes == bytes) found = numbers.native;
  });
  return found;
}

Identifier written_type(char kind, int bytes) {
  if (kind != 'b') {
    hid_t found = -1;
    each_number([&](const Numbers& numbers) {
      if (numbers.kind == kind && numbers.bytes == bytes)
        found = std::endian::native == std::endian::little ? numbers.little : numbers.big;
    });
    return checked(H5Tcopy(found), H5Tclose);
  }
  Identifier type = checked(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const std::int8_t no = 0, yes = 1;
  check(H5Tenum_insert(type, "FALSE", &no));
  check(H5Tenum_insert(type, "TRUE", &yes));
  return type;
}

}  // namespace tdsl::rt::hdf5
