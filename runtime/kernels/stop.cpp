#include "runtime/kernels/stop.h"

#include <string>

namespace tdsl::rt {

void stop(SourceLine place, const char* message) { throw ProgramError(place, message); }

void stop_sizes(SourceLine place, const char* message, Exact left, Exact right) {
  throw ProgramError(place, with_sizes(message, left, right));
}

void stop_subscript(SourceLine place, std::int64_t value, std::int64_t extent, const char* subscript) {
  throw ProgramError(place, "the subscript `" + std::string(subscript) + "` is " + std::to_string(value) +
                                " and lies outside its dimension of " + std::to_string(extent) + " [out-of-bounds]");
}

}  // namespace tdsl::rt
