// Every refusal of the viewer: reading a store for display, answering over HTTP, exporting.
#pragma once

#include "base/refusal.h"

namespace assay::view {

inline constexpr RefusalInfo kShardForeign{
    "VIEW-SHARD-FOREIGN", "A shard was not laid out by assay-publish, or not as a whole.",
    "It is shown from its columns as far as they say anything; publish the result anew for all of "
    "it."};
inline constexpr RefusalInfo kShardMixed{"VIEW-SHARD-MIXED",
                                         "One shard holds rows of several runs; it is not shown.",
                                         "Publish one shard a run."};
inline constexpr RefusalInfo kShardName{
    "VIEW-SHARD-NAME",
    "A shard's bytes are not those that its name promises, or its name is no shard's; it is not "
    "shown.",
    "Restore the file from where it was published; a published shard never changes."};
inline constexpr RefusalInfo kShardLarge{
    "VIEW-SHARD-LARGE", "A shard has more rows than the index lists.",
    "The run is listed without its rows; the page reads them from the shard."};
inline constexpr RefusalInfo kShardTwin{
    "VIEW-SHARD-TWIN", "A shard is the rewritten copy of another one; the run is counted once.",
    "Nothing to do: the shard that the run was published as is shown."};
inline constexpr RefusalInfo kIndexLost{"VIEW-INDEX-LOST",
                                        "The run index names a shard that the store does not have.",
                                        "Restore the shard; entries are never removed."};
inline constexpr RefusalInfo kIndexUnproven{
    "VIEW-INDEX-UNPROVEN",
    "The run index calls weights verified that the shard does not prove; they count as unverified.",
    "Publish the run with its provenance."};
inline constexpr RefusalInfo kListen{
    "VIEW-LISTEN", "The server cannot listen at the address.",
    "Choose another --port (0 takes a free one) or a --host of this machine."};
inline constexpr RefusalInfo kHttpMethod{"VIEW-HTTP-METHOD",
                                         "The server is read-only; it answers GET and HEAD.",
                                         "Publish with assay-publish instead."};
inline constexpr RefusalInfo kHttpRequest{"VIEW-HTTP-REQUEST",
                                          "What came is no HTTP request that can be answered.",
                                          "Open the address that assay-view printed in a browser."};
inline constexpr RefusalInfo kHttpFault{"VIEW-HTTP-FAULT", "A request could not be answered.",
                                        "This is a fault of the program; please report it."};
inline constexpr RefusalInfo kHttpHost{"VIEW-HTTP-HOST",
                                       "A request to a loopback address names another host.",
                                       "Open the address that assay-view printed."};
inline constexpr RefusalInfo kHttpPath{"VIEW-HTTP-PATH", "Nothing is served under this path.",
                                       "The paths are in docs/view.md."};
inline constexpr RefusalInfo kHttpParameter{
    "VIEW-HTTP-PARAMETER", "A query parameter is unknown, stands twice or has no usable value.",
    "The parameters are in docs/view.md."};
inline constexpr RefusalInfo kShardChanged{
    "VIEW-SHARD-CHANGED", "A shard's file is not the one that was listed.",
    "List the store again (/api/index?refresh=1); a published shard never changes."};
inline constexpr RefusalInfo kExportTarget{"VIEW-EXPORT-TARGET",
                                           "The export cannot be written there.",
                                           "Give a new folder or file (NAME.html), or one that an "
                                           "export made."};
inline constexpr RefusalInfo kExportLarge{"VIEW-EXPORT-LARGE",
                                          "The export would be too large for one file.",
                                          "Export a folder, or fewer runs with --max-shards."};
inline constexpr RefusalInfo kPageBroken{
    "VIEW-PAGE", "The files of the page cannot be put into one file.",
    "This is a fault of the build: every file that the page names must be among its files."};

inline constexpr const RefusalInfo* kViewRefusals[] = {
    &kShardForeign,  &kShardMixed,    &kShardName,    &kShardLarge,   &kShardTwin,   &kIndexLost,
    &kIndexUnproven, &kListen,        &kHttpMethod,   &kHttpRequest,  &kHttpFault,   &kHttpHost,
    &kHttpPath,      &kHttpParameter, &kShardChanged, &kExportTarget, &kExportLarge, &kPageBroken};

}  // namespace assay::view
