#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/op.h"

// Visitors of the members of operations: access to numbers and operands, and conversion to other numbers.

namespace tdsl::plan {

/// A visitor for `visit_fields` that visits the elements of lists and ignores everything else.
template <class Derived>
struct FieldVisitor {
  template <class... X>
  void note(const X&...) {}
  template <class... X>
  void property(const X&...) {}
  template <class... X>
  void flag(const char*, const X&...) {}
  template <class... X>
  void estimate(const X&...) {}
  template <class... X>
  void number(const X&...) {}
  template <class... X>
  void tensor(const X&...) {}
  template <class... X>
  void outputs(const X&...) {}
  template <class Each, class T>
  void list(const Each& each, const std::vector<T>& elements) {
    for (const T& element : elements) each(static_cast<Derived&>(*this), element);
  }
};

template <class Number, class OnNumber, class OnTensor>
struct NumberVisitor : FieldVisitor<NumberVisitor<Number, OnNumber, OnTensor>> {
  NumberVisitor(const OnNumber& on_number, const OnTensor& on_tensor) : on_number_(on_number), on_tensor_(on_tensor) {}
  void number(const Number& x) { on_number_(x); }
  void tensor(const typename NumberTypes<Number>::Tensor& t) {
    if (t != NumberTypes<Number>::kNoTensor) on_tensor_(t);
  }

 private:
  const OnNumber& on_number_;
  const OnTensor& on_tensor_;
};

/// Calls `on_number` and `on_tensor` for all numbers and operands of an operation or its sparsity.
template <class Number, template <class> class Fields, class OnNumber, class OnTensor>
void for_each_number(const Fields<Number>& fields, const OnNumber& on_number, const OnTensor& on_tensor) {
  NumberVisitor<Number, OnNumber, OnTensor> visitor(on_number, on_tensor);
  visit_fields(visitor, fields);
}

template <class From, class To, class ToNumber, class ToTensor>
class NumberConversion {
 public:
  NumberConversion(const ToNumber& to_number, const ToTensor& to_tensor)
      : to_number_(to_number), to_tensor_(to_tensor) {}

  template <class T>
  void note(const T& from, T& to) {
    to = from;
  }
  template <class T>
  void property(const T& from, T& to) {
    to = from;
  }
  void flag(const char*, bool from, bool& to) { to = from; }
  void estimate(double from, double& to) { to = from; }
  void outputs(const std::vector<TensorDesc>& from, std::vector<TensorDesc>& to) { to = from; }
  void number(const From& from, To& to) { to = to_number_(from); }
  void tensor(const typename NumberTypes<From>::Tensor& from, typename NumberTypes<To>::Tensor& to) {
    to = from == NumberTypes<From>::kNoTensor ? NumberTypes<To>::kNoTensor : to_tensor_(from);
  }
  template <class Each, class T, class U>
  void list(const Each& each, const std::vector<T>& from, std::vector<U>& to) {
    to.resize(from.size());
    for (std::size_t k = 0; k < from.size(); ++k) each(*this, from[k], to[k]);
  }

 private:
  const ToNumber& to_number_;
  const ToTensor& to_tensor_;
};

/// The same operation, or sparsity, with converted numbers and operands.
template <class To, class From, template <class> class Fields, class ToNumber, class ToTensor>
[[nodiscard]] Fields<To> with_numbers(const Fields<From>& from, const ToNumber& number, const ToTensor& tensor) {
  Fields<To> to;
  NumberConversion<From, To, ToNumber, ToTensor> conversion(number, tensor);
  visit_fields(conversion, from, to);
  return to;
}

}  // namespace tdsl::plan
