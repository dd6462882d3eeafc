// Every refusal of tokenizer.
#pragma once

#include "base/refusal.h"

namespace assay::engine::tokenizer {

inline constexpr RefusalInfo kModelUnknown{
    "TOKENIZER-MODEL-UNKNOWN", "`tokenizer.ggml.model` names a tokenizer this build does not have.",
    "Use a model with a `llama` (SentencePiece) or `gpt2` (byte-level BPE) tokenizer."};
inline constexpr RefusalInfo kPreUnknown{
    "TOKENIZER-PRE-UNKNOWN",
    "`tokenizer.ggml.pre` is missing or names a splitter this build does not have; any other "
    "splitter would silently give wrong ids.",
    "Convert the model again with a current converter, or name a splitter for an unscored run."};
inline constexpr RefusalInfo kLengthsDiffer{
    "TOKENIZER-LENGTHS-DIFFER", "Arrays that describe the same tokens have different lengths.",
    "The vocabulary would be cut silently; convert the model again."};
inline constexpr RefusalInfo kVocabularySize{"TOKENIZER-VOCABULARY-SIZE",
                                             "The vocabulary is empty or too large.",
                                             "Convert or download the model again."};
inline constexpr RefusalInfo kIdOutOfRange{
    "TOKENIZER-ID-OUT-OF-RANGE", "A token id is not in the vocabulary.",
    "Use ids below the vocabulary size that the message names."};
inline constexpr RefusalInfo kTokenInvalid{
    "TOKENIZER-TOKEN-INVALID", "A token's text or type cannot be what the tokenizer says it is.",
    "Convert the model again."};
inline constexpr RefusalInfo kTokenDuplicate{
    "TOKENIZER-TOKEN-DUPLICATE", "Two tokens are spelled alike.", "Convert the model again."};
inline constexpr RefusalInfo kMergeInvalid{
    "TOKENIZER-MERGE-INVALID",
    "A merge is not two tokens with one space between them, or gives no token.",
    "Convert the model again."};
inline constexpr RefusalInfo kScoresFlat{
    "TOKENIZER-SCORES-FLAT", "All SentencePiece scores are equal, so the order of merges is lost.",
    "Convert the model again from its tokenizer.model."};
inline constexpr RefusalInfo kBosMissing{
    "TOKENIZER-BOS-MISSING",
    "The file asks for a token at the beginning or end of a text but does not say which.",
    "Set `tokenizer.ggml.bos_token_id` or `eos_token_id`, or turn the request off, and convert "
    "again."};
inline constexpr RefusalInfo kTextNotCovered{
    "TOKENIZER-TEXT-NOT-COVERED", "The vocabulary has no token for a part of the text.",
    "Use another text, or a model whose vocabulary covers all bytes."};
inline constexpr RefusalInfo kTextTooLong{
    "TOKENIZER-TEXT-TOO-LONG", "The text is longer than the tokenizer accepts.", "Split the text."};

inline constexpr const RefusalInfo* kTokenizerRefusals[] = {
    &kModelUnknown, &kPreUnknown,   &kLengthsDiffer,  &kVocabularySize,
    &kIdOutOfRange, &kTokenInvalid, &kTokenDuplicate, &kMergeInvalid,
    &kScoresFlat,   &kBosMissing,   &kTextNotCovered, &kTextTooLong};

}  // namespace assay::engine::tokenizer
