// Any bytes as an envelope: every problem is named with its path; what has none keeps its canonical
// text and its digest through reading and writing.
#include "publish/envelope.h"

#include <cstdint>
#include <string_view>

#include "base/ensure.h"
#include "publish/validate.h"

using namespace assay;
using namespace assay::publish;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto document = json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!document) return 0;
  const auto problems = validate(*document, {.now_seconds = 1800000000});
  for (const Problem& problem : problems) {
    ENSURE(!problem.code.empty() && problem.path.starts_with('$') && !problem.message.empty());
  }
  const auto envelope = from_json(*document);
  if (!envelope) return 0;
  const std::string text = canonical_json(*envelope);
  const auto again = json::parse(text);
  if (!again) return 0;  // two tags with one key: JSON that we refuse to read
  const auto same = from_json(*again);
  ENSURE(same && canonical_json(*same) == text);
  ENSURE(envelope_sha256(*same) == envelope_sha256(*envelope));
  return 0;
}
