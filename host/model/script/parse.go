package script

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/axishost/axishost/host/yamldepth"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

func parse(data []byte, name string) (*Script, error) {
	p := reader{name: name}
	if err := yamldepth.Check(data); err != nil {
		return nil, fmt.Errorf("script %s is %w", name, err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, p.syntax(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, p.fail(doc.Body, "a script is one YAML document; this begins a second")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, fmt.Errorf("script %s is empty: it needs a list replies", name)
	}
	s := &Script{Name: name}
	err = p.mapping(body, "a script", []field{
		{"replies", func(n ast.Node) error { return p.list(n, "replies", s.readReply(p)) }},
	})
	if err == nil && len(s.Replies) == 0 {
		err = p.fail(body, "the script has no replies")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Script) readReply(p reader) func(ast.Node) error {
	return func(n ast.Node) error {
		var r Reply
		if err := p.reply(n, &r); err != nil {
			return err
		}
		s.Replies = append(s.Replies, r)
		return nil
	}
}

func (p reader) reply(n ast.Node, r *Reply) error {
	delay := 0
	err := p.mapping(n, "a reply", []field{
		{"content", p.text("content", &r.Content)},
		{"reasoning", p.text("reasoning", &r.Reasoning)},
		{"tool_calls", func(n ast.Node) error {
			return p.list(n, "tool_calls", func(n ast.Node) error {
				call := ToolCall{Arguments: "{}"}
				err := p.call(n, &call)
				r.ToolCalls = append(r.ToolCalls, call)
				return err
			})
		}},
		{"finish_reason", p.text("finish_reason", &r.FinishReason)},
		{"usage", func(n ast.Node) error {
			r.Usage = &Usage{}
			return p.mapping(n, "usage", []field{
				{"prompt_tokens", p.number("prompt_tokens", &r.Usage.PromptTokens)},
				{"completion_tokens", p.number("completion_tokens", &r.Usage.CompletionTokens)},
			})
		}},
		{"delay_ms", p.number("delay_ms", &delay)},
		{"http_status", p.number("http_status", &r.HTTPStatus)},
		{"retry_after", p.header("retry_after", &r.RetryAfter)},
		{"expect", func(n ast.Node) error {
			r.Expect = &Expect{}
			return p.expect(n, r.Expect)
		}},
	})
	r.Delay = time.Duration(delay) * time.Millisecond
	if err != nil {
		return err
	}
	if s := r.HTTPStatus; s != 0 && s != 200 && (s < 400 || s > 599) {
		return p.fail(n, fmt.Sprintf("http_status is 200 or from 400 to 599, not %d", s))
	}
	return nil
}

func (p reader) call(n ast.Node, c *ToolCall) error {
	err := p.mapping(n, "a tool call", []field{
		{"name", p.text("name", &c.Name)},
		{"arguments", func(n ast.Node) error {
			if text, ok := textOf(n); ok {
				c.Arguments = text
				return nil
			}
			if _, ok := n.(*ast.MappingNode); !ok {
				return p.fail(n, "arguments wants an object or text, got "+kind(n))
			}
			encoded, err := p.json(n)
			c.Arguments = string(encoded)
			return err
		}},
		{"id", p.text("id", &c.ID)},
	})
	if err == nil && c.Name == "" {
		err = p.fail(n, "the tool call has no name")
	}
	return err
}

func (p reader) expect(n ast.Node, e *Expect) error {
	return p.mapping(n, "expect", []field{
		{"last_role", p.text("last_role", &e.LastRole)},
		{"contains", func(n ast.Node) error {
			if text, ok := textOf(n); ok {
				e.Contains = []string{text}
				return nil
			}
			return p.texts(n, "contains", &e.Contains)
		}},
		{"tools", func(n ast.Node) error {
			e.Tools = []string{}
			return p.texts(n, "tools", &e.Tools)
		}},
	})
}

// reader reads YAML nodes into Go values. Its errors name file and line.
type reader struct{ name string }

// field is a key of a mapping and what reads its value.
type field struct {
	key  string
	read func(ast.Node) error
}

func (p reader) fail(n ast.Node, problem string) error {
	line := 1
	if token := n.GetToken(); token != nil && token.Position != nil {
		line = token.Position.Line
	}
	return fmt.Errorf("%s:%d: %s", p.name, line, problem)
}

func (p reader) syntax(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("script %s is not YAML: %.200q", p.name, err)
	}
	problem := strings.Join(strings.Fields(at.GetMessage()), " ")
	if token := at.GetToken(); token != nil && token.Position != nil {
		return fmt.Errorf("%s:%d: not YAML: %.200s", p.name, token.Position.Line, problem)
	}
	return fmt.Errorf("script %s is not YAML: %.200s", p.name, problem)
}

// mapping reads a mapping of which all keys are known.
func (p reader) mapping(n ast.Node, what string, fields []field) error {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return p.fail(n, fmt.Sprintf("%s wants keys and values, got %s", what, kind(n)))
	}
	for _, pair := range m.Values {
		key := pair.Key.GetToken().Value
		known := false
		for _, f := range fields {
			if f.key != key {
				continue
			}
			known = true
			if err := f.read(pair.Value); err != nil {
				return err
			}
		}
		if !known {
			return p.fail(pair.Key, fmt.Sprintf("%s has no key %.100q; did you mean %q?", what, key, nearest(key, fields)))
		}
	}
	return nil
}

func (p reader) list(n ast.Node, what string, read func(ast.Node) error) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return p.fail(n, fmt.Sprintf("%s wants a list, got %s", what, kind(n)))
	}
	for _, item := range list.Values {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

func (p reader) texts(n ast.Node, what string, to *[]string) error {
	return p.list(n, what, func(n ast.Node) error {
		text, ok := textOf(n)
		if !ok {
			return p.fail(n, fmt.Sprintf("%s wants texts, got %s", what, kind(n)))
		}
		*to = append(*to, text)
		return nil
	})
}

// text reads text; null is "".
func (p reader) text(key string, to *string) func(ast.Node) error {
	return func(n ast.Node) error {
		if n.Type() == ast.NullType {
			return nil
		}
		text, ok := textOf(n)
		if !ok {
			return p.fail(n, fmt.Sprintf("%s wants text, got %s: put it in quotes", key, kind(n)))
		}
		*to = text
		return nil
	}
}

// header reads a header's value, which may look like a number.
func (p reader) header(key string, to *string) func(ast.Node) error {
	return func(n ast.Node) error {
		if number, ok := n.(*ast.IntegerNode); ok {
			*to = number.Token.Value
			return nil
		}
		if err := p.text(key, to)(n); err != nil {
			return err
		}
		if strings.ContainsFunc(*to, func(r rune) bool { return r < ' ' || r > '~' }) {
			return p.fail(n, key+" must be printable ASCII")
		}
		return nil
	}
}

func (p reader) number(key string, to *int) func(ast.Node) error {
	return func(n ast.Node) error {
		integer, ok := n.(*ast.IntegerNode)
		if !ok {
			return p.fail(n, fmt.Sprintf("%s wants a whole number, got %s", key, kind(n)))
		}
		value, ok := integer.Value.(uint64)
		if !ok || value > math.MaxInt32 {
			return p.fail(n, fmt.Sprintf("%s wants a whole number from 0 to %d, got %s", key, math.MaxInt32, integer.Token.Value))
		}
		*to = int(value)
		return nil
	}
}
