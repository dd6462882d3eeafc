// Every refusal of the record: reading other tools' files, envelopes, publishing.
#pragma once

#include "base/refusal.h"

namespace assay::publish {

inline constexpr RefusalInfo kConvertInput{
    "CONVERT-INPUT", "A result file cannot be read as the kind it is said to be.",
    "Check that the file is whole and that --kind names the tool that wrote it."};
inline constexpr RefusalInfo kConvertAccounting{
    "CONVERT-ACCOUNTING", "The counts of a result file contradict each other.",
    "Publish the file as its tool wrote it; when it is that, the tool's fault must be mended "
    "first."};
inline constexpr RefusalInfo kConvertKindUnknown{
    "CONVERT-KIND-UNKNOWN", "No known tool's output was recognised in the file, or more than one.",
    "Name the tool with --kind."};
inline constexpr RefusalInfo kConvertModelUnknown{
    "CONVERT-MODEL-UNKNOWN", "The file does not say which model was measured.",
    "Give --model, or allow it with --allow-unknown-model."};
inline constexpr RefusalInfo kConvertTagClash{
    "CONVERT-TAG-CLASH",
    "A tag given on the command line has the key of a tag that the file gives.",
    "Choose another key."};
inline constexpr RefusalInfo kEnvelopeInvalid{"ENVELOPE-INVALID",
                                              "An envelope breaks its schema or a semantic rule.",
                                              "Correct each problem that is listed with its path."};

inline constexpr RefusalInfo kShardUnreadable{
    "SHARD-UNREADABLE", "A file is no whole Parquet file that can be read.",
    "Check that the shard was copied whole; published shards are never rewritten."};
inline constexpr RefusalInfo kShardNotWritten{"SHARD-NOT-WRITTEN",
                                              "The rows could not be written as Parquet.",
                                              "Check memory and the message of the library."};
inline constexpr RefusalInfo kStoreUrl{
    "STORE-URL", "The store is not one that can be published to.",
    "Give file://DIR, s3://BUCKET/PREFIX or hf://datasets/OWNER/NAME[@REVISION]."};
inline constexpr RefusalInfo kStoreDifferentBytes{
    "STORE-DIFFERENT-BYTES",
    "The store holds another file under the same path; what is published is never changed.",
    "Publish a corrected result as a new shard, or use --long-hash where two names collide."};
inline constexpr RefusalInfo kStoreWrite{"STORE-WRITE", "The store did not take a file.",
                                         "Check space, permissions and the message of the store."};
inline constexpr RefusalInfo kStoreRead{"STORE-READ",
                                        "The store did not give a file or its listing.",
                                        "Check that the store exists and can be read."};
inline constexpr RefusalInfo kStoreUnreachable{
    "STORE-UNREACHABLE", "The store's server could not be reached, or the connection broke.",
    "Check the network and the endpoint, then publish again: what is stored already is left as it "
    "is."};
inline constexpr RefusalInfo kStoreBusy{
    "STORE-BUSY", "The store's server stayed overloaded, or asks for a longer pause than we wait.",
    "Publish again later: what is stored already is left as it is."};
inline constexpr RefusalInfo kStoreReply{
    "STORE-REPLY", "The store's server answered with something that its interface does not allow.",
    "Check that the endpoint is the service that the URL's scheme means."};
inline constexpr RefusalInfo kStoreDamaged{
    "STORE-DAMAGED", "Bytes were damaged on their way to or from the store, or in it.",
    "Publish again; if a stored file stays damaged, restore it from its source."};
inline constexpr RefusalInfo kStoreNotFound{
    "STORE-NOT-FOUND",
    "The folder, the bucket, the dataset or its revision does not exist, or is hidden.",
    "Check the name, make the bucket or dataset first, or use credentials that may see it."};
inline constexpr RefusalInfo kStoreCredentialsMissing{
    "STORE-CREDENTIALS-MISSING", "The store needs a key or token and none was given.",
    "Set the environment variables that the message names."};
inline constexpr RefusalInfo kStoreCredentialsRefused{
    "STORE-CREDENTIALS-REFUSED", "The store does not accept the key or token for what was asked.",
    "Use the key or token that the message describes, with the right that it names."};
inline constexpr RefusalInfo kStoreRegion{
    "STORE-REGION", "The request was signed for another region than the bucket's.",
    "Set AWS_REGION to the region that the message names."};
inline constexpr RefusalInfo kStoreInsecure{
    "STORE-INSECURE", "A secret would have been sent over an unencrypted connection.",
    "Use an https:// endpoint; http:// is accepted for this machine's loopback only."};
inline constexpr RefusalInfo kStoreNotConditional{
    "STORE-NOT-CONDITIONAL",
    "The object store cannot write on a condition, so published files would not be safe in it.",
    "Use a store that supports If-None-Match and If-Match on PUT."};
inline constexpr RefusalInfo kStoreNotBuilt{
    "STORE-NOT-BUILT", "This build has no HTTP client, so it can only use folders.",
    "Install libcurl's development package and build again."};
inline constexpr RefusalInfo kIndexInvalid{
    "INDEX-INVALID", "The run index breaks its rules.",
    "Correct the entry that the message names; entries are only ever appended."};

inline constexpr RefusalInfo kNothingToPublish{
    "PUBLISH-NO-ROWS", "A file gives no row, and no status that explains it.",
    "Check that the run measured anything; the converter's remarks say what was left out."};
inline constexpr RefusalInfo kEventsNotWritten{
    "EVENTS-NOT-WRITTEN", "The event feed could not be extended or rebuilt.",
    "Check the state folder; `assay-publish events replay` rebuilds the feed from the shards."};

inline constexpr const RefusalInfo* kPublishRefusals[] = {&kConvertInput,
                                                          &kConvertAccounting,
                                                          &kConvertKindUnknown,
                                                          &kConvertModelUnknown,
                                                          &kConvertTagClash,
                                                          &kEnvelopeInvalid,
                                                          &kShardUnreadable,
                                                          &kShardNotWritten,
                                                          &kStoreUrl,
                                                          &kStoreDifferentBytes,
                                                          &kStoreWrite,
                                                          &kStoreRead,
                                                          &kIndexInvalid,
                                                          &kNothingToPublish,
                                                          &kEventsNotWritten,
                                                          &kStoreUnreachable,
                                                          &kStoreBusy,
                                                          &kStoreReply,
                                                          &kStoreDamaged,
                                                          &kStoreNotFound,
                                                          &kStoreCredentialsMissing,
                                                          &kStoreCredentialsRefused,
                                                          &kStoreRegion,
                                                          &kStoreInsecure,
                                                          &kStoreNotConditional,
                                                          &kStoreNotBuilt};

}  // namespace assay::publish
