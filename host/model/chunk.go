package model

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// chunk is one event of a reply, read leniently: endpoints differ in the types of what matters least.
type chunk struct {
	Model   text            `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  text            `json:"object"`
}

// failure tells whether the event is an error that the endpoint declares, and what it says.
func (c chunk) failure(raw []byte) (saying, bool) {
	switch {
	case len(c.Error) > 0 && string(c.Error) != "null":
		return parseSaying(c.Error), true
	case c.Object == "error":
		return parseSaying(raw), true
	}
	return saying{}, false
}

type choice struct {
	Index        ordinal `json:"index"`
	Delta        *delta  `json:"delta"`
	Message      *delta  `json:"message"` // of an endpoint that does not stream
	FinishReason text    `json:"finish_reason"`
}

type delta struct {
	Content          text        `json:"content"`
	Refusal          text        `json:"refusal"`
	ReasoningContent text        `json:"reasoning_content"`
	Reasoning        text        `json:"reasoning"`
	ToolCalls        []callDelta `json:"tool_calls"`
}

// indexed gives the calls of a whole message the indexes that their places are, where it has none.
func (d *delta) indexed() *delta {
	if d == nil {
		return nil
	}
	for i := range d.ToolCalls {
		if index := &d.ToolCalls[i].Index; !index.set {
			*index = ordinal{n: i, set: true}
		}
	}
	return d
}

type callDelta struct {
	Index    ordinal `json:"index"`
	ID       text    `json:"id"`
	Function struct {
		Name      text      `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// usage takes numbers as floats: some endpoints write 12.0.
type usage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
}

func tokens(n float64) int {
	return int(min(max(n, 0), math.MaxInt32))
}

// ordinal is an index that may be missing, null or a number in a string. Anything else is as if missing.
type ordinal struct {
	n   int
	set bool
}

func (o *ordinal) UnmarshalJSON(raw []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	*o = ordinal{n: n, set: err == nil && n >= 0}
	return nil
}

// arguments are the arguments of a call: a string's content, or the bytes of an object.
type arguments string

func (a *arguments) UnmarshalJSON(raw []byte) error {
	switch {
	case raw[0] == '"':
		*a = arguments(unquote(raw))
	case string(raw) != "null":
		*a = arguments(raw)
	}
	return nil
}

// text is a string, or what stands for one: a number's digits, the text parts of a list, "" for the rest.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	switch first := raw[0]; {
	case first == '"':
		*t = text(unquote(raw))
	case first == '-' || first >= '0' && first <= '9':
		*t = text(raw)
	case first == '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		var all strings.Builder
		for _, raw := range parts {
			var part struct {
				Text string `json:"text"`
			}
			if json.Unmarshal(raw, &part) == nil {
				all.WriteString(part.Text)
			}
		}
		*t = text(all.String())
	}
	return nil
}
