// Any bytes as a calibration: refused by name, or valid by its own rules.
#include "scoring/calibration.h"

#include <cstdint>
#include <string_view>

#include "base/ensure.h"

using namespace assay::scoring;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed =
      parse_calibration(std::string_view(reinterpret_cast<const char*>(data), size), 0.01);
  if (!parsed) {
    ENSURE(!parsed.refusal().detail.empty());
    return 0;
  }
  for (const CalibrationPrompt& prompt : parsed->prompts) {
    ENSURE(prompt.passes >= 2 && prompt.decode_cv <= 0.01);
    ENSURE(select_prompt(*parsed, parsed->track_id, parsed->box, prompt.prompt));
  }
  return 0;
}
