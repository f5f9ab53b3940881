package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/goccy/go-yaml/ast"
)

// textOf is the content of a text node.
func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// kind names what a node is, for people.
func kind(n ast.Node) string {
	switch n.Type() {
	case ast.StringType, ast.LiteralType:
		return "text"
	case ast.IntegerType, ast.FloatType, ast.InfinityType, ast.NanType:
		return "a number"
	case ast.BoolType:
		return "true or false"
	case ast.NullType:
		return "nothing"
	case ast.MappingType:
		return "keys and values"
	case ast.SequenceType:
		return "a list"
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		return "an anchor or alias, which scripts do not have"
	}
	return "something else"
}

// json encodes a value with its keys in the order of the file, so that the same script sends the same bytes.
func (p reader) json(n ast.Node) ([]byte, error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return []byte("null"), nil
	case *ast.BoolNode:
		return json.Marshal(n.Value)
	case *ast.IntegerNode:
		return json.Marshal(n.Value)
	case *ast.FloatNode:
		return json.Marshal(n.Value)
	case *ast.SequenceNode:
		parts := make([][]byte, 0, len(n.Values))
		for _, item := range n.Values {
			part, err := p.json(item)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
		return enclose("[", parts, "]"), nil
	case *ast.MappingNode:
		parts := make([][]byte, 0, len(n.Values))
		for _, pair := range n.Values {
			value, err := p.json(pair.Value)
			if err != nil {
				return nil, err
			}
			if pair.Key.IsMergeKey() {
				return nil, p.fail(pair.Key, "scripts do not have merge keys")
			}
			parts = append(parts, append(append(quoted(pair.Key.GetToken().Value), ':'), value...))
		}
		return enclose("{", parts, "}"), nil
	}
	if text, ok := textOf(n); ok {
		return quoted(text), nil
	}
	return nil, p.fail(n, "arguments cannot hold "+kind(n))
}

func enclose(open string, parts [][]byte, end string) []byte {
	return []byte(open + string(bytes.Join(parts, []byte(","))) + end)
}

// quoted is text as a JSON string with <, > and & as they are.
func quoted(text string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(fmt.Sprintf("encode a string: %v", err)) // encoding/json has no error for strings
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// nearest is the known key that takes the fewest edits to become key.
func nearest(key string, fields []field) string {
	key = strings.ToLower(key[:min(len(key), 40)])
	best, fewest := "", 1000
	for _, f := range fields {
		if n := levenshtein.ComputeDistance(key, f.key); n < fewest {
			best, fewest = f.key, n
		}
	}
	return best
}
