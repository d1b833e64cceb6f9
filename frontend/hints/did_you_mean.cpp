#include "frontend/diagnostics/diagnostics.h"
#include "runtime/base/nearest_name.h"

namespace tdsl::frontend {

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = rt::nearest_name(name, candidates);
  return nearest.empty() ? std::string() : "; did you mean `" + nearest + "`?";
}

}  // namespace tdsl::frontend
