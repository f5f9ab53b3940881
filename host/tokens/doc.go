// Package tokens counts the tokens of texts and messages as OpenAI's encodings cut them, with vocabularies
// that are part of the binary. It never touches the network or the disk.
//
// The count is exact for models of OpenAI and an approximation for all others. It is a function of the model
// name and the text alone. Its work is linear in the length of the text, whatever the text: see RATIONALE.md.
//
// It refuses to encode, to decode, and to treat markers such as <|endoftext|> within a text as anything but
// text. It knows nothing of requests: what an endpoint adds around the messages is not in the counts.
//
// Invariants: no more than chunkLimit bytes are encoded at once; a text with a change from a letter or a digit to
// something else at least that often is counted exactly.
//
// The core does not import it: counts enter the core as inputs.
package tokens
