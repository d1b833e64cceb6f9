#include "runtime/hdf5/element_types.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tdsl::rt::hdf5 {

namespace {

struct Numbers {
  char kind;
  int bytes;
  hid_t little, big, native;
};

/// A float of two bytes, which lasts as long as the process. Older versions of the library have no names for them.
hid_t short_float(hid_t like, std::size_t exponent, std::size_t fraction) {
  const hid_t type = H5Tcopy(like);
  check(H5Tset_fields(type, 15, fraction, exponent, 0, fraction));
  check(H5Tset_size(type, 2));
  check(H5Tset_ebias(type, (std::size_t{1} << (exponent - 1)) - 1));
  return type;
}

Numbers short_floats(char kind, std::size_t exponent, std::size_t fraction) {
  const hid_t little = short_float(H5T_IEEE_F32LE, exponent, fraction);
  const hid_t big = short_float(H5T_IEEE_F32BE, exponent, fraction);
  return {kind, 2, little, big, std::endian::native == std::endian::little ? little : big};
}

/// The names in the table are macros that call the library.
template <class F>
void each_number(const F& f) {
  static const Numbers kF16 = short_floats('f', 5, 10), kBf16 = short_floats('V', 8, 7);
  for (const Numbers& numbers : {Numbers{'i', 1, H5T_STD_I8LE, H5T_STD_I8BE, H5T_NATIVE_INT8},
                                 Numbers{'i', 2, H5T_STD_I16LE, H5T_STD_I16BE, H5T_NATIVE_INT16},
                                 Numbers{'i', 4, H5T_STD_I32LE, H5T_STD_I32BE, H5T_NATIVE_INT32},
                                 Numbers{'i', 8, H5T_STD_I64LE, H5T_STD_I64BE, H5T_NATIVE_INT64},
                                 Numbers{'u', 1, H5T_STD_U8LE, H5T_STD_U8BE, H5T_NATIVE_UINT8},
                                 Numbers{'u', 2, H5T_STD_U16LE, H5T_STD_U16BE, H5T_NATIVE_UINT16},
                                 Numbers{'u', 4, H5T_STD_U32LE, H5T_STD_U32BE, H5T_NATIVE_UINT32},
                                 Numbers{'u', 8, H5T_STD_U64LE, H5T_STD_U64BE, H5T_NATIVE_UINT64}, kF16, kBf16,
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

/// A complex number of h5py's: the parts `r` and `i`, one after the other.
Identifier compound_of(hid_t part, int bytes) {
  Identifier type = checked(H5Tcreate(H5T_COMPOUND, static_cast<std::size_t>(bytes)), H5Tclose);
  check(H5Tinsert(type, "r", 0, part));
  check(H5Tinsert(type, "i", static_cast<std::size_t>(bytes) / 2, part));
  return type;
}

/// The type of the parts if it is such a number.
Identifier part_of(hid_t type) {
  if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) return {};
  Identifier re = checked(H5Tget_member_type(type, 0), H5Tclose);
  const Identifier im = checked(H5Tget_member_type(type, 1), H5Tclose);
  const std::size_t bytes = H5Tget_size(re);
  const bool fits = H5Tget_class(re) == H5T_FLOAT && H5Tequal(re, im) > 0 && H5Tget_size(type) == 2 * bytes &&
                    H5Tget_member_index(type, "r") == 0 && H5Tget_member_index(type, "i") == 1 &&
                    H5Tget_member_offset(type, 0) == 0 && H5Tget_member_offset(type, 1) == bytes;
  return fits ? std::move(re) : Identifier();
}

std::string class_name(hid_t type) {
  const std::string bits = std::to_string(8 * H5Tget_size(type)) + " bits";
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return "integers of " + bits;
    case H5T_FLOAT: return "floating-point numbers of " + bits;
    case H5T_STRING: return "strings";
    case H5T_COMPOUND: return "records";
    case H5T_ENUM: return "an enumeration";
    case H5T_ARRAY: return "arrays as elements";
    case H5T_REFERENCE: return "references";
    default: return "no numbers";
  }
}

}  // namespace

StoredType stored_type(hid_t type) {
  if (is_bool(type)) return {'b', 1, false};
  if (const Identifier part = part_of(type)) {
    const StoredType of_part = stored_type(part);
    return {'c', 2 * of_part.bytes, of_part.swapped};
  }
  StoredType found{'?', 0, false};
  each_number([&](const Numbers& numbers) {
    const bool little = H5Tequal(type, numbers.little) > 0, big = H5Tequal(type, numbers.big) > 0;
    if (little || big)
      found = {numbers.kind, numbers.bytes, numbers.bytes > 1 && big == (std::endian::native == std::endian::little)};
  });
  if (found.bytes == 0)
    throw std::runtime_error(
        "it holds " + class_name(type) +
        "; supported are bool (as h5py writes it), integers of 1 to 8 bytes, f16, bf16, f32, f64, c64 and c128");
  return found;
}

Identifier native_type(char kind, int bytes) {
  if (kind == 'c') return compound_of(native_type('f', bytes / 2), bytes);
  hid_t found = -1;
  each_number([&](const Numbers& numbers) {
    if (numbers.kind == kind && numbers.bytes == bytes) found = numbers.native;
  });
  return checked(H5Tcopy(found), H5Tclose);
}

Identifier written_type(char kind, int bytes) {
  if (kind == 'c') return compound_of(written_type('f', bytes / 2), bytes);
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
