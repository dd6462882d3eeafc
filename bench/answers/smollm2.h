// Where the real 135M model lies, for what is measured or tested with it.
#pragma once

#include <filesystem>

namespace assay::bench {

/// $ASSAY_SMOLLM2, or where tools/fetch_model.sh puts it. Not checked to exist.
[[nodiscard]] std::filesystem::path smollm2_path();

}  // namespace assay::bench
