// Every refusal of gguf.
#pragma once

#include "base/refusal.h"

namespace assay::engine::gguf {

inline constexpr RefusalInfo kNotGguf{
    "GGUF-NOT-GGUF", "The file does not start as a GGUF file does.",
    "The message says what the file looks like; download or convert the model again."};
inline constexpr RefusalInfo kVersion{
    "GGUF-VERSION", "The GGUF version is not 2 or 3, or the file is big-endian.",
    "Convert the model with a current llama.cpp on a little-endian machine."};
inline constexpr RefusalInfo kTruncated{
    "GGUF-TRUNCATED", "The file ends before what its header announces.",
    "Download the named file again and compare its size and SHA-256 with the publisher's."};
inline constexpr RefusalInfo kCount{
    "GGUF-COUNT", "A count in the header is larger than the rest of the file can hold.",
    "The file is damaged or hostile; download it again."};
inline constexpr RefusalInfo kKeyName{"GGUF-KEY-NAME",
                                      "A metadata key is empty, too long or not UTF-8.",
                                      "The file is damaged; convert or download it again."};
inline constexpr RefusalInfo kKeyDuplicate{"GGUF-KEY-DUPLICATE",
                                           "A metadata key stands twice in one file.",
                                           "Remove one of the two with a GGUF editor."};
inline constexpr RefusalInfo kValueType{
    "GGUF-VALUE-TYPE", "A metadata value has a type number that GGUF does not define.",
    "The file is damaged or of a newer format; download it again or update this build."};
inline constexpr RefusalInfo kNesting{"GGUF-NESTING",
                                      "Metadata arrays are nested deeper than accepted.",
                                      "The file is damaged or hostile; download it again."};
inline constexpr RefusalInfo kAlignment{
    "GGUF-ALIGNMENT", "`general.alignment` is not a u32 that is a power of two from 8 to 1048576.",
    "Convert the model again; the usual alignment is 32."};
inline constexpr RefusalInfo kTensorName{"GGUF-TENSOR-NAME",
                                         "A tensor name is empty, too long or not UTF-8.",
                                         "The file is damaged; convert or download it again."};
inline constexpr RefusalInfo kTensorDuplicate{"GGUF-TENSOR-DUPLICATE",
                                              "A tensor name stands twice in one model.",
                                              "Convert the model again."};
inline constexpr RefusalInfo kTensorShape{
    "GGUF-TENSOR-SHAPE",
    "A tensor has too many dimensions, a dimension that is zero or too large, or a row that is not "
    "a whole number of blocks.",
    "Convert or download the model again."};
inline constexpr RefusalInfo kTensorOffset{
    "GGUF-TENSOR-OFFSET", "A tensor's offset is not a multiple of the file's alignment.",
    "Convert or download the model again."};
inline constexpr RefusalInfo kTensorMissing{
    "GGUF-TENSOR-MISSING", "A tensor that the architecture requires is not in the file.",
    "Use a complete file of the architecture its metadata names."};
inline constexpr RefusalInfo kTypeUnknown{
    "GGUF-TYPE-UNKNOWN", "A required tensor has an element type this build cannot compute with.",
    "Use a file quantised to one of the types that the message lists."};
inline constexpr RefusalInfo kKeyMissing{"GGUF-KEY-MISSING",
                                         "A required metadata key is not in the file.",
                                         "Convert the model again with a current converter."};
inline constexpr RefusalInfo kKeyType{"GGUF-KEY-TYPE",
                                      "A metadata value has another type than its key requires.",
                                      "Convert the model again with a current converter."};
inline constexpr RefusalInfo kKeyRange{"GGUF-KEY-RANGE",
                                       "A metadata value lies outside the range of its key.",
                                       "Convert or download the model again."};
inline constexpr RefusalInfo kSplitMissing{"GGUF-SPLIT-MISSING",
                                           "Shards of a split model are not there.",
                                           "Put every listed file beside the first shard."};
inline constexpr RefusalInfo kSplitJoined{
    "GGUF-SPLIT-JOINED", "The file is several shards of a split model put together end to end.",
    "Keep the shards as separate files, or merge them with llama-gguf-split --merge."};
inline constexpr RefusalInfo kSplitName{
    "GGUF-SPLIT-NAME",
    "The file is the first shard of a split model, but its name does not say so.",
    "Give the shards back their names, STEM-00001-of-0000N.gguf."};
inline constexpr RefusalInfo kSplitNotFirst{
    "GGUF-SPLIT-NOT-FIRST", "The file is a later shard of a split model.", "Name the first shard."};
inline constexpr RefusalInfo kSplitMismatch{
    "GGUF-SPLIT-MISMATCH", "The shards of a split model do not belong together.",
    "Download every shard from the same place and revision."};
inline constexpr RefusalInfo kFolderEmpty{"GGUF-FOLDER-EMPTY",
                                          "The folder holds no model, or only a draft head.",
                                          "Name the model file, or the folder that holds it."};
inline constexpr RefusalInfo kFolderAmbiguous{
    "GGUF-FOLDER-AMBIGUOUS", "Two files of the folder could both be the model, or both the head.",
    "Name the file you mean, or move one of the two away."};

inline constexpr const RefusalInfo* kGgufRefusals[] = {
    &kNotGguf,         &kVersion,       &kTruncated,     &kCount,         &kKeyName,
    &kKeyDuplicate,    &kValueType,     &kNesting,       &kAlignment,     &kTensorName,
    &kTensorDuplicate, &kTensorShape,   &kTensorOffset,  &kTensorMissing, &kTypeUnknown,
    &kKeyMissing,      &kKeyType,       &kKeyRange,      &kSplitMissing,  &kSplitJoined,
    &kSplitName,       &kSplitNotFirst, &kSplitMismatch, &kFolderEmpty,   &kFolderAmbiguous};

}  // namespace assay::engine::gguf
