#include "codegen/walk/plan_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "ir/eval/elements.h"
#include "runtime/check.h"
#include "runtime/plan/op_builder.h"
#include "runtime/types.h"

namespace tdsl::codegen {

namespace {

ir::Literal literal_of(record::ElementType type, const std::byte* bytes) {
  return rt::visit_element_type(type, [&](auto tag) {
    typename decltype(tag)::type value;
    std::memcpy(&value, bytes, sizeof value);
    return ir::eval::literal_of(type, ir::eval::slot_of(value));
  });
}

}  // namespace

void PlanSession::stop(int line, const std::string& message) const {
  const std::string file = place_.file < program_.files.size() ? program_.files[place_.file] : program_.name;
  throw rt::RunError({file, line}, message);
}

std::int64_t PlanSession::dimension(const std::string& name) const {
  const auto found = request_.dimensions.find(name);
  if (found == request_.dimensions.end())
    stop(fmt::format("the extent of {} is not known: give a file, or --set {}=N [missing-input]", name, name));
  return found->second;
}

std::int64_t PlanSession::found(const std::string& name, std::int64_t estimate) const {
  const auto given = request_.dimensions.find(name);
  const bool is_given = given != request_.dimensions.end();
  const std::int64_t assumed = is_given ? given->second : estimate;
  note(fmt::format("{} is found by data: {} is assumed{}", name.empty() ? "an extent" : "the extent " + name, assumed,
                   is_given || name.empty() ? "" : ", and --set " + name + "=K assumes another"));
  return assumed;
}

plan::Index PlanSession::time_tile(const plan::StencilLoop& loop) const {
  const plan::Index height =
      plan::time_tile(loop, request_.time_tile, request_.machine, request_.ranks, request_.threads);
  if (height > 1) note(fmt::format("time tiles of {} steps (--time-tile)", height));
  return control.decide(height);
}

std::optional<ir::Literal> PlanSession::param(const std::string& name) const {
  const auto found = request_.params.find(name);
  return found == request_.params.end() ? std::nullopt : std::optional(found->second);
}

void PlanSession::require_size_of(const Source& source) const {
  if (source.compressed) {
    require_stored_size(source.name, source.type, source.shape, line());
  } else {
    require_size(source.name, source.type, source.shape, line());
  }
}

StoredInput PlanSession::stored_input(const Source& source) const {
  StoredInput stored{plan::guessed_stored(source.shape)};
  const auto known = request_.stored.find(source.name);
  if (known != request_.stored.end()) {
    const double all = stored.elements.hi;
    stored = known->second;
    stored.elements = {std::min(stored.elements.lo, all), std::min(stored.elements.expected, all),
                       std::min(stored.elements.hi, all)};
    if (stored.rows && stored.rows->rows != source.shape[0])
      stored.rows = nullptr;  // another operand made the matrix longer than its file
  } else if (stored.elements.hi > 0) {
    note(fmt::format(
        "no file says how many elements of `{}` are stored: {:.0f} are assumed, {:.2g} %, "
        "and in peaks all; --set {}.stored=N says otherwise",
        source.name, stored.elements.expected, 100 * stored.elements.expected / stored.elements.hi, source.name));
  }
  return stored;
}

record::TensorHandle PlanSession::input(const Source& source) {
  require_size_of(source);
  if (!source.compressed) return recorder.load(source.name, source.type, source.shape, source.tile, at(source.site));
  StoredInput stored = stored_input(source);
  return recorder.load_stored(source.name, source.type, source.shape, stored.elements, std::move(stored.rows),
                              source.tile, at(source.site));
}

record::TensorHandle PlanSession::random(const Source& source, std::optional<double> density) {
  require_size_of(source);
  if (!source.compressed) return recorder.source(source.name, source.type, source.shape, source.tile, at(source.site));
  const plan::Estimate stored =
      density ? plan::drawn_stored(source.shape, *density) : plan::guessed_stored(source.shape);
  return recorder.stored_source(source.name, source.type, source.shape, stored, source.tile, at(source.site));
}

record::TensorHandle PlanSession::sum_of_products(const record::SumOfProducts& sum,
                                                  const std::function<record::TensorHandle(plan::OpBuilder&)>& one) {
  const SourceRange place = place_;
  const auto chosen = [&](const std::string& text) { note_(place, "the sum of products runs as " + text); };
  return record::record_sum(sum, {control, one, chosen});
}

class PlanSession::RoutineCaller : public rt::routines::Caller {
 public:
  explicit RoutineCaller(PlanSession& session) : session_(session) {}

  record::TensorHandle record(plan::OpBuilder& op, record::ElementType type, const rt::routines::KernelCall&) override {
    return session_.record(std::move(op.op()), type);
  }
  record::Control& control() override { return session_.control; }
  std::optional<double> read(const record::TensorHandle& scalar, record::Place place) override {
    const std::optional<ir::Literal> value = session_.read(scalar, place);
    return value ? std::optional(std::get<double>(*value)) : std::nullopt;
  }
  bool distributes(plan::Index bytes) const override {
    return plan::distributes(session_.request_.factorise, session_.request_.deciding_ranks, bytes);
  }
  bool indirect_qr(plan::Index rows, plan::Index columns, plan::Index blocks) const override {
    return plan::indirect_qr(session_.request_.factorise, session_.request_.deciding_ranks, rows, columns, blocks);
  }
  void gathers(std::string_view routine, std::string_view operand, plan::Index bytes, int) override {
    session_.gathers(routine, operand, bytes);
  }

 private:
  PlanSession& session_;
};

void PlanSession::routine(rt::routines::Call& call) {
  RoutineCaller caller(*this);
  rt::routines::record_routine(caller, call);
}

std::optional<ir::Literal> PlanSession::read(const record::TensorHandle& scalar, record::Place place) {
  static_cast<void>(recorder.control(scalar, place));
  const record::ElementType type = scalar.state().type;
  std::array<std::byte, rt::kLargestElement> value{};
  if (!control.read(type, std::span(value).first(element_size(type)))) return std::nullopt;
  return literal_of(type, value.data());
}

void PlanSession::collect(const std::string& name, const std::vector<const record::TensorState*>& tensors, int site) {
  recorder.collect(name, tensors, at(site));
}

void PlanSession::output(const std::string& name, const record::TensorHandle& tensor, int site, bool is_record) {
  if (!request_.files.contains(name)) return collect(name, {&tensor.state()}, site);
  if (is_record && request_.line_files.contains(name)) return recorder.gather(name, tensor, at(site));
  const auto rows = request_.row_files.find(name);
  const bool in_rows = rows != request_.row_files.end() && (!is_record || tensor.state().desc.bytes() <= rows->second);
  recorder.store(name, tensor, at(site), in_rows);
}

void PlanSession::gathers(std::string_view routine, std::string_view operand, plan::Index bytes) const {
  if (request_.ranks <= 1 || bytes <= plan::kGatheredBytes || program_.silent.contains({place_.file, place_.line}))
    return;
  note(plan::gathered_text(std::string(routine), std::string(operand), bytes));
}

}  // namespace tdsl::codegen
