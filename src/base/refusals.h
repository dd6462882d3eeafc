// Every refusal of base.
#pragma once

#include "base/refusal.h"

namespace assay {

inline constexpr RefusalInfo kFileUnreadable{"FILE-UNREADABLE",
                                             "A file or folder could not be opened or read.",
                                             "Check the path, its spelling and its permissions."};
inline constexpr RefusalInfo kFileTooLarge{"FILE-TOO-LARGE",
                                           "A file is larger than its reader accepts.",
                                           "Check that it is the file you meant."};
inline constexpr RefusalInfo kFileNotWritten{
    "FILE-NOT-WRITTEN", "A file could not be written in full; nothing was left under its name.",
    "Check free disk space, the folder and its permissions, then run again."};
inline constexpr RefusalInfo kJsonSyntax{"JSON-SYNTAX", "The text is not exactly one JSON value.",
                                         "Correct the text at the byte that the message names."};
inline constexpr RefusalInfo kJsonDuplicateKey{
    "JSON-DUPLICATE-KEY", "A key stands twice in one JSON object.", "Keep one of the two."};
inline constexpr RefusalInfo kJsonTooDeep{
    "JSON-TOO-DEEP", "JSON objects and arrays are nested deeper than accepted.",
    "Check that the file is of the kind you meant."};
inline constexpr RefusalInfo kJsonType{
    "JSON-TYPE", "A JSON value has another type than its key requires.",
    "Give the value in the type that the message names; integers carry no fraction or exponent."};
inline constexpr RefusalInfo kJsonRange{"JSON-RANGE",
                                        "A JSON number lies outside the range of its key.",
                                        "Give a value inside the range that the message names."};
inline constexpr RefusalInfo kJsonMissingKey{"JSON-MISSING-KEY", "A required key is not there.",
                                             "Add the key that the message names."};
inline constexpr RefusalInfo kJsonUnknownKey{
    "JSON-UNKNOWN-KEY", "A closed JSON object holds a key that it does not define.",
    "Remove the key, or correct its spelling."};

inline constexpr const RefusalInfo* kBaseRefusals[] = {
    &kFileUnreadable, &kFileTooLarge, &kFileNotWritten, &kJsonSyntax,     &kJsonDuplicateKey,
    &kJsonTooDeep,    &kJsonType,     &kJsonRange,      &kJsonMissingKey, &kJsonUnknownKey};

}  // namespace assay
