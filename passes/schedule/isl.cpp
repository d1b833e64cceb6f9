#include "passes/schedule/isl.h"

#ifdef TDSL_ISL
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/union_set.h>
#endif

namespace tdsl::passes {

#ifdef TDSL_ISL

namespace {

std::optional<bool> answer(isl_ctx* context, isl_bool b) {
  if (b == isl_bool_error) {
    isl_ctx_reset_error(context);
    return std::nullopt;
  }
  return b == isl_bool_true;
}

}  // namespace

struct IntegerSets::Context {
  isl_ctx* isl = isl_ctx_alloc();
  explicit Context(std::uint64_t operations) {
    isl_options_set_on_error(isl, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(isl, operations);
  }
  ~Context() { isl_ctx_free(isl); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

IntegerSets::IntegerSets(std::uint64_t operations) : context_(std::make_unique<Context>(operations)) {}
IntegerSets::~IntegerSets() = default;

bool IntegerSets::available() { return true; }

std::optional<bool> IntegerSets::is_empty(const std::string& set) {
  const auto found = known_.find(set);
  if (found != known_.end()) return found->second;
  isl_union_set* s = isl_union_set_read_from_str(context_->isl, set.c_str());
  const auto result = answer(context_->isl, isl_union_set_is_empty(s));
  isl_union_set_free(s);
  known_.emplace(set, result);
  return result;
}

std::optional<bool> IntegerSets::is_subset(const std::string& a, const std::string& b) {
  isl_union_set* left = isl_union_set_read_from_str(context_->isl, a.c_str());
  isl_union_set* right = isl_union_set_read_from_str(context_->isl, b.c_str());
  const auto result = answer(context_->isl, isl_union_set_is_subset(left, right));
  isl_union_set_free(left);
  isl_union_set_free(right);
  return result;
}

#else

struct IntegerSets::Context {};

IntegerSets::IntegerSets(std::uint64_t) {}
IntegerSets::~IntegerSets() = default;

bool IntegerSets::available() { return false; }
std::optional<bool> IntegerSets::is_empty(const std::string&) { return std::nullopt; }
std::optional<bool> IntegerSets::is_subset(const std::string&, const std::string&) { return std::nullopt; }

#endif

}  // namespace tdsl::passes
