#pragma once

#include "runtime/checkpoint/text.h"
#include "runtime/plan/space/distribution.h"
#include "runtime/record/path.h"

// Paths, tensors and distributions as text in a manifest. Reading restores the written value.

namespace tdsl::rt::checkpoint {

void write(TextWriter& out, const plan::Distribution& where);
[[nodiscard]] plan::Distribution read_distribution(TextReader& in);

void write(TextWriter& out, const record::KnownTensor& tensor);
[[nodiscard]] record::KnownTensor read_tensor(TextReader& in);

void write(TextWriter& out, const record::Path& path);
[[nodiscard]] record::Path read_path(TextReader& in);

}  // namespace tdsl::rt::checkpoint
