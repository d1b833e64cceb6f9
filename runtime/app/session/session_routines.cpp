#include "runtime/app/session/session_impl.h"
#include "runtime/routines/algorithms/routine.h"
#include "runtime/routines/kernels/make.h"

namespace tdsl::rt {

namespace {

/// The session's interface for routines.
class SessionCaller : public routines::Caller {
 public:
  SessionCaller(Session& session, Session::Impl& impl, routines::MakeKernel make)
      : session_(session), impl_(impl), make_(make) {}

  TensorHandle record(plan::OpBuilder& op, ElementType type, const routines::KernelCall& kernel) override {
    impl_.require_size(op.op().name, type, op.op().shape, op.op().line);
    impl_.keep(make_(kernel, impl_.at(op.op().line)));
    return impl_.recorder.record(std::move(op.op()), type);
  }

  record::Control& control() override { return impl_.control; }

  std::optional<double> read(const TensorHandle& scalar, record::Place place) override {
    if (scalar.state().type == ElementType::kF32) return session_.read(Tensor<float>(scalar), place.site, place.line);
    return session_.read(Tensor<double>(scalar), place.site, place.line);
  }

  bool distributes(Index bytes) const override {
    return impl_.control.decide(
               plan::distributes(session_.options().factorise, impl_.setup.plan_inputs.deciding_ranks(), bytes)
                   ? 1
                   : 0) != 0;
  }
  bool indirect_qr(Index rows, Index columns, Index blocks) const override {
    return impl_.control.decide(plan::indirect_qr(session_.options().factorise,
                                                  impl_.setup.plan_inputs.deciding_ranks(), rows, columns, blocks)
                                    ? 1
                                    : 0) != 0;
  }
  void gathers(std::string_view routine, std::string_view operand, Index bytes, int line) override {
    session_.gathers(line, routine, operand, bytes);
  }

 private:
  Session& session_;
  Session::Impl& impl_;
  routines::MakeKernel make_;
};

}  // namespace

void Session::routine(routines::Call& call, routines::MakeKernel make) {
  SessionCaller caller(*this, *impl_, make);
  routines::record_routine(caller, call);
}

}  // namespace tdsl::rt
