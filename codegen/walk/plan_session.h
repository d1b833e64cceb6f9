#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/walk/plan_walk.h"
#include "runtime/plan/time_tile.h"
#include "runtime/record/session.h"
#include "runtime/record/sum_of_products.h"
#include "runtime/routines/algorithms/routine.h"

namespace tdsl::codegen {

/// The session of a program that is planned but not run: records operations with numeric sizes and computes nothing.
/// The request supplies dimensions, params and properties of inputs.
class PlanSession final : public record::Session {
 public:
  PlanSession(const OperationProgram& program, const WalkRequest& request, record::Recorder& its_recorder,
              record::Control& its_control, const Note& note)
      : Session(its_recorder, its_control), program_(program), request_(request), note_(note) {}

  /// Sets the source range of the current step.
  void move_to(SourceRange place) { place_ = place; }
  [[nodiscard]] SourceRange place() const { return place_; }
  [[nodiscard]] int line() const { return static_cast<int>(place_.line); }
  [[nodiscard]] record::Place at(int site) const { return {site, line()}; }
  [[noreturn]] void stop(int line, const std::string& message) const override;
  [[noreturn]] void stop(const std::string& message) const { stop(line(), message); }
  void note(const std::string& text) const { note_(place_, text); }

  [[nodiscard]] std::int64_t dimension(const std::string& name) const;
  /// The extent that a plan assumes for one that data determine: the request's, or the estimate.
  [[nodiscard]] std::int64_t found(const std::string& name, std::int64_t estimate) const;
  /// The steps of a block of the loop; a note tells more than one.
  [[nodiscard]] plan::Index time_tile(const plan::StencilLoop& loop) const;
  /// nullopt if the request does not contain it.
  [[nodiscard]] std::optional<ir::Literal> param(const std::string& name) const;

  /// An input or a random tensor.
  struct Source {
    std::string name;
    record::ElementType type;
    std::vector<plan::Index> shape;
    std::vector<plan::Index> tile;
    bool compressed = false;
    int site = 0;
  };
  [[nodiscard]] record::TensorHandle input(const Source& source);
  /// `density`: of a compressed tensor, the expected fraction of stored elements; nullopt: unknown.
  [[nodiscard]] record::TensorHandle random(const Source& source, std::optional<double> density);

  [[nodiscard]] record::TensorHandle sum_of_products(const record::SumOfProducts& sum,
                                                     const std::function<record::TensorHandle(plan::OpBuilder&)>& one);
  void routine(rt::routines::Call& call);
  /// Value of a scalar, if known before the program runs.
  [[nodiscard]] std::optional<ir::Literal> read(const record::TensorHandle& scalar, record::Place place);

  /// Records a `print`, an `assert`, or an output that is not written to a file.
  void collect(const std::string& name, const std::vector<const record::TensorState*>& tensors, int site);
  void output(const std::string& name, const record::TensorHandle& tensor, int site, bool is_record);
  /// Adds a note if several ranks run and one of them receives more than plan::kGatheredBytes.
  void gathers(std::string_view routine, std::string_view operand, plan::Index bytes) const;

 private:
  class RoutineCaller;
  void require_size_of(const Source& source) const;
  [[nodiscard]] StoredInput stored_input(const Source& source) const;

  const OperationProgram& program_;
  const WalkRequest& request_;
  const Note& note_;
  SourceRange place_;
};

}  // namespace tdsl::codegen
