package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ArgumentsDigest is what tells arguments apart: SHA-256 over their canonical form (RFC 8785), in hexadecimal. Same
// arguments in another spelling (spaces, order, escapes) have the same digest. All 32 bytes of it: an approval covers
// a digest, and whoever writes arguments must not be able to find two that share one.
//
// Two things are other than in the RFC, both so that arguments a tool may tell apart do not share a digest: integers
// keep their digits where a double would round them; and what has no canonical form (no JSON, a name twice,
// text that is not UTF-8) is taken as it stands, behind a byte that no JSON begins with.
func ArgumentsDigest(arguments string) string {
	canonical := jsontext.Value(arguments)
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		canonical = append([]byte{0}, arguments...)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// CompensationID is that of undoing an operation of a task: the same over all attempts, and over all tasks that undo it, so
// that undoing it twice is one effect.
func CompensationID(task, operation string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00compensate", task, operation))
	return hex.EncodeToString(sum[:16])
}

// operationID is the same over all attempts of a step, and differs between any two steps. Half a digest will do: it
// names an operation to those who know it, and gives no right.
func operationID(task string, step int64, args string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", task, step, args))
	return hex.EncodeToString(sum[:16])
}
