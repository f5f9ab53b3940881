package tokens

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain takes away the network and the library's cache of downloads: a vocabulary can only come from the
// binary.
func TestMain(m *testing.M) {
	http.DefaultTransport = refusing{}
	cache, err := os.MkdirTemp("", "tokens")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("TIKTOKEN_CACHE_DIR", cache); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(cache); err != nil {
		panic(err)
	}
	os.Exit(code)
}

type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("network is not allowed: " + r.URL.String())
}

func TestEncodingOfModels(t *testing.T) {
	models := map[string][]string{
		"cl100k_base": {
			"gpt-4", "gpt-4-0613", "gpt-4-turbo-preview", "GPT-4-32k", "gpt-3.5-turbo", "gpt-3.5-turbo-16k", "gpt-35-turbo",
			"openai/gpt-4", "ft:gpt-3.5-turbo-0125:acme::id", "ft:gpt-4:acme", "text-embedding-3-small",
		},
		"o200k_base": {
			"", "/", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-nano", "gpt-4.5-preview", "gpt-5", "o1", "o3-mini", "chatgpt-4o-latest",
			"openai/gpt-4o", "ft:gpt-4o-mini:acme", "gpt-40", "llama3:8b", "qwen/qwen-2.5-72b", "gpt-4/other", "not-gpt-4",
		},
	}
	for encoding, names := range models {
		for _, name := range names {
			assert.Equal(t, encoding, New(name).Encoding(), name)
		}
	}
}

// TestCount holds counts against those of OpenAI's own library (its Rust core, npm tiktoken).
func TestCount(t *testing.T) {
	cases := []struct {
		text   string
		o200k  int64
		cl100k int64
	}{
		{"", 0, 0},
		{"hello world!你好，世界！", 7, 10},
		{"hallo world!", 4, 4},
		{"你好世界！", 3, 6},
		{"こんにちは世界！", 3, 5},
		{"안녕하세요 세계!", 4, 10},
		{"Привет мир!", 4, 6},
		{"It's 12345 o'clock.\n\n\tDon't  panic!", 12, 14},
		{`{"query":"weather in Zürich","days":3}`, 11, 13},
		{"🙂🙃", 3, 5},
		{" \n \nX", 2, 2},
		{"<|endoftext|>", 7, 7}, // text, not the marker
		{"\ufffd\ufffd", 1, 1},
		{"\xff\xfe", 1, 1}, // as two U+FFFD
	}
	newer, older := New("gpt-4o"), New("gpt-4")
	for _, c := range cases {
		assert.Equal(t, c.o200k, newer.Count(c.text), "o200k_base of %q", c.text)
		assert.Equal(t, c.cl100k, older.Count(c.text), "cl100k_base of %q", c.text)
	}
}

func TestMessage(t *testing.T) {
	c := New("gpt-4o")
	for _, role := range []string{"system", "user", "assistant", "tool"} {
		assert.Equal(t, int64(1), c.Count(role), "the overhead of a message counts its role as one token: %s", role)
	}
	cases := map[string]struct {
		message Message
		want    int64
	}{
		"empty":     {Message{}, 4},
		"content":   {Message{Content: "hallo world!"}, 4 + 4},
		"reasoning": {Message{Content: "hallo world!", Reasoning: "你好世界！"}, 4 + 4 + 3},
		"name":      {Message{Name: "user"}, 4 + 1 + 1},
		"a call":    {Message{ToolCalls: []Call{{Name: "tool", Arguments: `{"query":"weather in Zürich","days":3}`}}}, 4 + 10 + 1 + 11},
		"two calls": {Message{ToolCalls: []Call{{Name: "tool"}, {Name: "user"}}}, 4 + 2*(10+1)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, c.Message(tc.message))
		})
	}
}

// TestNothingIsLoadedForNothing makes the loading itself fail.
func TestNothingIsLoadedForNothing(t *testing.T) {
	c := &Counter{vocabulary: &vocabulary{name: "none", load: func() encoder { panic("loaded") }}}
	assert.Zero(t, c.Count(""))
	assert.Equal(t, int64(messageOverhead), c.Message(Message{}))
	assert.Panics(t, func() { c.Count("a") })
}

func TestMissingVocabularyPanics(t *testing.T) {
	assert.PanicsWithValue(t, "tokens: vocabulary r2d2 of this binary: Unknown encoding: r2d2", func() { open("r2d2") })
}

// TestConcurrentCounts is for the race detector: goroutines share counters, and counters their vocabulary.
func TestConcurrentCounts(t *testing.T) {
	shared := New("gpt-4")
	results := make([]string, 8)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			own := New("gpt-4o")
			m := Message{Content: "hello world!你好，世界！"}
			results[i] = fmt.Sprint(shared.Message(m), own.Message(m), shared.Count("你好世界！"))
		})
	}
	group.Wait()
	for _, r := range results {
		require.Equal(t, "14 11 6", r)
	}
}
