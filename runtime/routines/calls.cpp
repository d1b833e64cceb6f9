#include "runtime/routines/calls.h"

namespace tdsl::rt::routines {

void carry_out(Session& session, Call& call, std::initializer_list<Into> results, MakeKernel make) {
  for (const Into& into : results) call.results.push_back({std::string(into.name), into.tensor != nullptr});
  session.routine(call, make);
  auto result = call.results.begin();
  for (const Into& into : results) {
    if (into.tensor != nullptr) *into.tensor = std::move(result->tensor);
    ++result;
  }
}

}  // namespace tdsl::rt::routines
