// refusal_catalogue SOURCE_ROOT OUTPUT: writes docs/refusals.md anew.
#include <cstdio>

#include "base/files.h"
#include "refusal_scan.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: refusal_catalogue src docs/refusals.md\n");
    return 2;
  }
  const auto rows = assay::tidy::scan_refusals(argv[1]);
  const auto status = assay::write_file_atomic(argv[2], assay::tidy::catalogue_markdown(rows));
  if (!status) {
    std::fprintf(stderr, "refusal_catalogue: %s\n", status.refusal().text().c_str());
    return 3;
  }
  return 0;
}
