package tokens

import "strings"

// Overheads of messages, in tokens.
const (
	// messageOverhead is OpenAI's for a message of the chat format: three for its frame, one for the role.
	messageOverhead = 3 + 1
	// nameOverhead is OpenAI's for a name, besides the tokens of the name.
	nameOverhead = 1
	// callOverhead is our own: OpenAI documents none. It is about what open chat templates put
	// around a call.
	callOverhead = 10
)

// Counter counts tokens for one model. Its methods may be called from several goroutines.
type Counter struct {
	vocabulary *vocabulary
}

// Message is what of a message costs tokens.
type Message struct {
	Content   string
	Reasoning string
	Name      string
	ToolCalls []Call
}

// Call is a tool call of a message.
type Call struct {
	Name      string
	Arguments string
}

// New gives the counter for a model by its name; provider prefixes and fine-tuning marks do not matter, and
// a name it does not know is counted by the newest encoding. Nothing is loaded before the first count, and
// counters of the same encoding share what is loaded.
func New(model string) *Counter {
	return &Counter{vocabulary: vocabularies[encodingOf(model)]}
}

// Encoding names the encoding that the counter uses: o200k_base or cl100k_base.
func (c *Counter) Encoding() string { return c.vocabulary.name }

// Count gives the number of tokens of a text. Bytes that are not UTF-8 count as U+FFFD, which is what
// endpoints are sent. A run of more than a KiB that the encodings do not split is cut, and the count is then
// an estimate: a token more for each cut, seldom two more or one less.
func (c *Counter) Count(text string) int64 {
	if text == "" {
		return 0
	}
	return count(text, c.vocabulary.load())
}

// Message gives the number of tokens of a message in a request: its texts, and the overhead of its frame, its
// name and its calls. What a request adds once, such as the start of the reply, is not in it.
func (c *Counter) Message(m Message) int64 {
	total := messageOverhead + c.Count(m.Content) + c.Count(m.Reasoning)
	if m.Name != "" {
		total += nameOverhead + c.Count(m.Name)
	}
	for _, call := range m.ToolCalls {
		total += callOverhead + c.Count(call.Name) + c.Count(call.Arguments)
	}
	return total
}

// encodingOf chooses by the model's own name: "openai/ft:gpt-4-0613:acme" is gpt-4-0613.
func encodingOf(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "ft:"), ":")
	if name == "gpt-4" {
		return cl100k
	}
	// gpt-35 is what Azure calls gpt-3.5. The hyphen keeps gpt-4o, gpt-4.1 and later apart from gpt-4.
	for _, prefix := range []string{"gpt-4-", "gpt-3.5", "gpt-35", "text-embedding-"} {
		if strings.HasPrefix(name, prefix) {
			return cl100k
		}
	}
	return o200k
}
