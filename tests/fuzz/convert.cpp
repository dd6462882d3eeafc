// Any bytes as a result file of one kind (ASSAY_FUZZ_KIND): refused by name, or envelopes whose
// canonical text is JSON that reads back as the same envelope.
#include "publish/convert.h"

#include <cstdint>
#include <string>

#include "base/ensure.h"
#include "publish/validate.h"

using namespace assay;
using namespace assay::publish;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  RunContext context;
  context.suite = "throughput";
  context.git_sha = "0123abc";
  context.time_zone = "+02:00";
  context.allow_unknown_model = true;
  const auto file = parse_tool_file(std::string(reinterpret_cast<const char*>(data), size),
                                    "fuzz-input", ASSAY_FUZZ_KIND);
  if (!file) {
    ENSURE(!file.refusal().detail.empty());
    return 0;
  }
  for (const Kind& kind : kinds()) (void)kind.looks_like(*file);
  const auto envelopes = convert_file(*file, ASSAY_FUZZ_KIND, context);
  if (!envelopes) {
    ENSURE(!envelopes.refusal().detail.empty());
    return 0;
  }
  ENSURE(!envelopes->empty());
  for (const Envelope& envelope : *envelopes) {
    const std::string text = canonical_json(envelope);
    const auto again = json::parse(text, {.depth_max = 300});
    ENSURE(again);
    const auto same = from_json(*again);
    ENSURE(same && canonical_json(*same) == text);
    (void)validate(*again, {});
  }
  return 0;
}
