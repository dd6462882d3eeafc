#include "engine/kernels/select.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "engine/kernels/refusals.h"
#if defined(ASSAY_KERNELS_X86)
#include "engine/kernels/avx2/table.h"
#include "engine/kernels/avx512vnni/table.h"
#endif

namespace assay::engine::kernels {
namespace {

// Every name that ASSAY_FORCE_ISA knows, on any machine and in any build.
constexpr std::string_view kNames[] = {"amx", "avx512vnni", "avx2", "scalar"};

constexpr const KernelTable* kBuilt[] = {
#if defined(ASSAY_KERNELS_X86)
    &kAvx512VnniTable, &kAvx2Table,
#endif
    &kScalarTable};

std::string runnable_names(const CpuFeatures& cpu) {
  std::string out;
  for (const KernelTable* table : kBuilt) {
    if (!table->runs_on(cpu)) continue;
    if (!out.empty()) out += ", ";
    out += table->name;
  }
  return out;
}

}  // namespace

std::span<const KernelTable* const> built_tables() noexcept {
  return kBuilt;
}

Result<const KernelTable*> select_table(const CpuFeatures& cpu, std::string_view wish) {
  if (wish.empty()) {
    for (const KernelTable* table : kBuilt) {
      if (table->runs_on(cpu)) return table;
    }
  }
  for (const KernelTable* table : kBuilt) {
    if (table->name != wish) continue;
    if (table->runs_on(cpu)) return table;
    return Refusal(kIsaNotSupported, cat("`", wish, "` needs ", table->needs,
                                         "; this machine can run: ", runnable_names(cpu)));
  }
  if (std::find(std::begin(kNames), std::end(kNames), wish) != std::end(kNames)) {
    return Refusal(
        kIsaNotBuilt,
        cat("`", wish, "` is not built into this program; it can run: ", runnable_names(cpu)));
  }
  return Refusal(kIsaUnknown,
                 cat("`", wish, "` is no kernel table; known are scalar, avx2, avx512vnni, amx"));
}

}  // namespace assay::engine::kernels
