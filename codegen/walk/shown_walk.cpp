#include <fmt/format.h>

#include "codegen/walk/plan_walk.h"
#include "runtime/kernels/scalar_math.h"

namespace tdsl::codegen {

namespace {

/// Limit on the iterations followed per loop; loops over scalars, whose values are needed later, are followed further.
constexpr plan::Index kShownIterations = 1000;
constexpr plan::Index limit_of(record::Loop loop) {
  return loop.records ? kShownIterations : record::kScalarIterations;
}

/// Runs the program as written, as far as its values are known.
class ShownControl : public record::Control {
 public:
  ShownControl(const Walk& walk, record::Recorder& recorder, const Note& note, const record::Forms& forms)
      : walk_(walk), recorder_(recorder), note_(note), forms_(forms) {}

  void for_loop(record::Loop loop, plan::Index begin, plan::Index end, plan::Index step, const Body& body) override {
    const SourceRange place = walk_.place();
    plan::Index done = 0;
    for (plan::Index i = begin; step > 0 ? i < end : i > end; i = rt::advanced(i, step)) {
      if (done++ == limit_of(loop)) return cut(place, limit_of(loop));
      body(i);
      recorder_.flush();
    }
  }

  void while_loop(record::Loop loop, const Condition& condition, const Body& body) override {
    const SourceRange place = walk_.place();
    for (plan::Index done = 0; done < limit_of(loop); ++done) {
      const bool runs = condition();
      if (loop.range == record::Known::kData && done == 1)
        return note_(place, "how often this loop runs depends on data: one iteration is shown");
      if (!runs && loop.range != record::Known::kData) return;
      body(done);
      recorder_.flush();
    }
    cut(place, limit_of(loop));
  }

  void if_else(record::Known known, int, bool condition, const Branch& then_branch,
               const Branch& else_branch) override {
    const bool open = known == record::Known::kData;
    if (open) note_(walk_.place(), "which branch is taken depends on data: the first is shown");
    open || condition ? then_branch() : else_branch();
  }

  void fence(int) override {}
  void choose(int site, std::span<const Branch> forms) override { forms[forms_.form(site, forms.size())](); }
  bool read(record::ElementType, std::span<std::byte>) override { return false; }

 private:
  void cut(SourceRange place, plan::Index limit) const {
    note_(place, fmt::format("only the first {} iterations of this loop are shown", limit));
  }

  const Walk& walk_;
  record::Recorder& recorder_;
  const Note& note_;
  const record::Forms& forms_;
};

}  // namespace

void walk_as_shown(const OperationProgram& program, const WalkRequest& request, record::Recorder& recorder,
                   const Note& note, const record::Forms& forms) {
  Walk walk(program, request, recorder);
  ShownControl control(walk, recorder, note, forms);
  walk.run(control, note);
}

}  // namespace tdsl::codegen
