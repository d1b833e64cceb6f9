#pragma once

#include "runtime/checkpoint/text.h"
#include "runtime/plan/space/distribution.h"
#include "runtime/record/path.h"

// Paths, tensors and distributions as text in a manifest: written, or read back.

namespace tdsl::rt::checkpoint {

void spell(TextWriter& out, const plan::Distribution& where);
void spell(TextReader& in, plan::Distribution& where);

void spell(TextWriter& out, const record::KnownTensor& tensor);
void spell(TextReader& in, record::KnownTensor& tensor);

void spell(TextWriter& out, const record::Path& path);
void spell(TextReader& in, record::Path& path);

}  // namespace tdsl::rt::checkpoint
