// Any bytes as a golden: refused by name, or loaded so that its canonical text is a fixed point.
#include "scoring/golden.h"

#include <cstdint>
#include <string_view>

#include "base/ensure.h"

using namespace assay::scoring;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  GoldenRequirements required;
  required.required_steps = 3;
  required.required_prompt_tokens = required.seed_tokens = 4;
  required.vocab_size = 100;
  required.benchmark_decode_steps = 2;
  const auto loaded =
      load_golden(std::string_view(reinterpret_cast<const char*>(data), size), required);
  if (!loaded) {
    ENSURE(!loaded.refusal().detail.empty());
    return 0;
  }
  const std::string text = write_golden(loaded->golden);
  const auto again = load_golden(text, required);
  ENSURE(again && write_golden(again->golden) == text);
  if (const auto oracle = timed_oracle(loaded->golden, 2)) {
    ENSURE(oracle->expected_decode_tokens.size() == 2);
  }
  return 0;
}
