package tokens

import (
	"fmt"
	"sync"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// The encodings in use.
const (
	o200k  = tiktoken.MODEL_O200K_BASE
	cl100k = tiktoken.MODEL_CL100K_BASE
)

// encoder gives the number of tokens of a text.
type encoder func(text string) int

// vocabulary is an encoding, loaded when it is first asked for: that takes 100 to 150 ms, and 11 to 22 MB for
// the rest of the process.
type vocabulary struct {
	name string
	load func() encoder
}

// vocabularies has one of each encoding for the whole process, so that counters share it. The map is never
// written to.
var vocabularies = map[string]*vocabulary{
	o200k:  {name: o200k, load: sync.OnceValue(func() encoder { return open(o200k) })},
	cl100k: {name: cl100k, load: sync.OnceValue(func() encoder { return open(cl100k) })},
}

// offline makes the library read the vocabularies in the binary. The library knows its loader only as a
// global, and its default one downloads; so it is set once, before the first encoding is opened. Nothing else
// in this program may set it.
var offline = sync.OnceFunc(func() { tiktoken.SetBpeLoader(loader.NewOfflineLoader()) })

// open panics when the vocabulary is not in the binary: only a broken build can cause that.
func open(name string) encoder {
	offline()
	encoding, err := tiktoken.GetEncoding(name)
	if err != nil {
		panic(fmt.Sprintf("tokens: vocabulary %s of this binary: %v", name, err))
	}
	return func(text string) int { return len(encoding.EncodeOrdinary(text)) }
}
