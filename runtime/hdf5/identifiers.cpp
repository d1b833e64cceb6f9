#include "runtime/hdf5/identifiers.h"

namespace tdsl::rt::hdf5 {

void fail() {
  std::string text;
  const auto keep = [](unsigned, const H5E_error2_t* error, void* kept) -> herr_t {
    if (error->desc != nullptr && *error->desc != '\0') *static_cast<std::string*>(kept) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep, &text);
  throw std::runtime_error("HDF5 says: " + (text.empty() ? std::string("nothing about the reason") : text));
}

}  // namespace tdsl::rt::hdf5
