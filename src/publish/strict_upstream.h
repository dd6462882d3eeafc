// The same envelope with only the fields that the upstream schema knows.
//
// Upstream's root is closed: our `regime`, `cache`, `provenance`, `control` and the context figures
// of ours would be rejected there. Each of their leaves becomes a tag of every result, named by its
// path
// (`regime.max_tokens`, `provenance.files.0.name`), with its source text as the value; of a run
// without results the leaves stand in `errors`, so that none is lost.
#pragma once

#include "publish/envelope.h"

namespace assay::publish {

[[nodiscard]] Envelope strict_upstream(const Envelope& envelope);

}  // namespace assay::publish
