#include "protocol/spec.h"

#include <algorithm>

#include "base/text.h"
#include "protocol/refusals.h"
#include "protocol/verb.h"

namespace assay::protocol {

SpecConfig serial_spec() {
  return {.mode = std::string(kSerial), .mtp = {}, .dflash = {}, .dspark = {}};
}

SpecConfig mtp_spec(std::optional<uint32_t> depth) {
  return {.mode = std::string(kMtp), .mtp = MtpSpec{depth}, .dflash = {}, .dspark = {}};
}

namespace {

bool equal(const json::Value& a, const json::Value& b);

bool equal_objects(const json::Value& a, const json::Value& b) {
  return a.members().size() == b.members().size() &&
         std::all_of(a.members().begin(), a.members().end(), [&](const json::Member& member) {
           const json::Value* other = b.find(member.first);
           return other != nullptr && equal(member.second, *other);
         });
}

// Equal as data: members in any order, numbers by their value within the integers and within the
// floats (1 and 1.0 differ: one is an integer).
bool equal(const json::Value& a, const json::Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_object()) return equal_objects(a, b);
  if (a.is_array()) {
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                      equal);
  }
  if (a.is_number() && !a.is_integer() && !b.is_integer()) {
    const auto x = a.as_double("");
    const auto y = b.as_double("");
    return x && y && *x == *y;
  }
  return a == b;
}

bool is_subset(const json::Value& part, const json::Value& whole) {
  if (!part.is_object() || !whole.is_object()) return equal(part, whole);
  return std::all_of(part.members().begin(), part.members().end(), [&](const json::Member& member) {
    const json::Value* other = whole.find(member.first);
    return other != nullptr && is_subset(member.second, *other);
  });
}

bool has_depth(const json::Value& block) {
  const json::Value* depth = block.is_object() ? block.find("depth") : nullptr;
  return depth != nullptr && depth->as_uint32("depth");
}

}  // namespace

bool honours(const SpecConfig& request, const std::optional<SpecConfig>& echo) {
  if (!echo || request.mode != echo->mode) return false;
  if (request.mtp.has_value() != echo->mtp.has_value() ||
      request.dflash.has_value() != echo->dflash.has_value() ||
      request.dspark.has_value() != echo->dspark.has_value()) {
    return false;
  }
  if (request.mtp) {
    if (request.mtp->depth ? echo->mtp->depth != request.mtp->depth : !echo->mtp->depth) {
      return false;
    }
  }
  if (request.dflash) {
    if (!is_subset(*request.dflash, *echo->dflash)) return false;
    if (request.mode == kDflash && !has_depth(*echo->dflash)) return false;
  }
  return !request.dspark || is_subset(*request.dspark, *echo->dspark);
}

Status check_spec(const SpecConfig& spec) {
  if (spec.mode != kSerial && spec.mode != kMtp && spec.mode != kDflash && spec.mode != kDspark) {
    return Refusal(kSpecMalformed,
                   cat("mode `", spec.mode, "` is not one of serial, mtp, dflash, dspark"));
  }
  const auto stray = [&](bool present, std::string_view name) {
    return present && spec.mode != name;
  };
  if (stray(spec.mtp.has_value(), kMtp) || stray(spec.dflash.has_value(), kDflash) ||
      stray(spec.dspark.has_value(), kDspark)) {
    return Refusal(kSpecMalformed,
                   cat("a spec of mode `", spec.mode, "` holds the block of another mode"));
  }
  return {};
}

Status check_spec_runnable(const SpecConfig& spec, std::span<const std::string> spec_modes) {
  if (spec.mode == kSerial ||
      std::find(spec_modes.begin(), spec_modes.end(), spec.mode) != spec_modes.end()) {
    return {};
  }
  return Refusal(
      kSpecModeNotRunnable,
      cat("mode `", spec.mode, "` was asked for, the hello lists [",
          join(std::vector<std::string>(spec_modes.begin(), spec_modes.end()), ", "), "]"));
}

namespace {
std::string describe(const SpecConfig& spec) {
  std::string text = cat("mode `", spec.mode, "`");
  if (spec.mtp) text += spec.mtp->depth ? cat(", depth ", *spec.mtp->depth) : ", depth open";
  if (spec.dflash) text += ", a dflash block";
  if (spec.dspark) text += ", a dspark block";
  return text;
}
}  // namespace

Status check_spec_echo(const SpecConfig& request, const std::optional<SpecConfig>& echo) {
  if (honours(request, echo)) return {};
  return Refusal(kSpecEchoDivergence,
                 cat("asked for ", describe(request), "; `effective_spec` reports ",
                     echo ? describe(*echo) : std::string("nothing")));
}

Status check_batch_echo(uint32_t batch_size, const std::optional<uint32_t>& echo,
                        bool echo_required) {
  if (echo ? *echo == batch_size : !echo_required) return {};
  return Refusal(kBatchEchoDivergence,
                 cat("asked for width ", batch_size, "; `effective_batch_size` reports ",
                     echo ? cat(*echo) : std::string("nothing")));
}

}  // namespace assay::protocol
