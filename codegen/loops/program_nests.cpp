#include "codegen/loops/program_nests.h"

#include "codegen/loops/build_nest.h"
#include "codegen/nest/interior.h"
#include "codegen/nest/verify.h"
#include "codegen/operations/describe.h"

namespace tdsl::codegen {

namespace {

class ProgramNests {
 public:
  explicit ProgramNests(const OperationProgram& program) : program_(program) {}

  std::vector<nest::Nest> run() {
    steps(program_.steps);
    return std::move(nests_);
  }

 private:
  void steps(const Steps& list) {
    for (const Step& s : list) {
      if (const auto* o = std::get_if<OperationStep>(&s.op)) operation(s.range, o->epilogue ? *o->epilogue : *o);
      if (const auto* l = std::get_if<LoopStep>(&s.op); l != nullptr && l->loop)
        add(build_nest(request("loop_" + l->name, s.range), *l).nest);
      for_each_list(s, [this](const Steps& inner) { steps(inner); });
    }
  }

  void operation(const SourceRange& place, const OperationStep& o) {
    const bool by_blas = o.op->op_class == plan::OpClass::kContraction || o.op->in_any_order;
    if (by_blas || (!o.fused && !o.kernel->rearranged.empty())) return;
    add(build_nest(request("kernel_" + title_of(program_, o.target), place), o).nest);
  }

  void add(nest::Nest nest) {
    nest::require_valid(nest);
    nest::split_interiors(nest);
    nest::require_valid(nest);
    nests_.push_back(std::move(nest));
  }

  [[nodiscard]] NestRequest request(std::string name, const SourceRange& place) const {
    return {program_, std::move(name), place, [this](ValueId v) { return title_of(program_, v); }};
  }

  const OperationProgram& program_;
  std::vector<nest::Nest> nests_;
};

}  // namespace

std::vector<nest::Nest> nests_of(const OperationProgram& program) { return ProgramNests(program).run(); }

}  // namespace tdsl::codegen
