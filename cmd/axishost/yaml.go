package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/axishost/axishost/host/yamldepth"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// decodeYAML reads one YAML document. Anchors, aliases and tags are refused: a few hundred bytes of aliases
// make a billion values, and a tag makes of a value what it is not.
func decodeYAML(text []byte, into any) error {
	if err := yamldepth.Check(text); err != nil {
		return fmt.Errorf("it is %w", err)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return firstLine(err)
	}
	plain := &plainYAML{}
	for _, document := range file.Docs {
		if document.Body != nil {
			ast.Walk(plain, document.Body)
		}
	}
	if plain.found != "" {
		return fmt.Errorf("%s is not taken: write the value itself", plain.found)
	}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err := documents.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return firstLine(err)
	}
	if err := documents.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errMoreDocuments
	}
	return nil
}

var errMoreDocuments = errors.New("it is more than one YAML document; make it one")

// plainYAML looks for what makes a document more than maps, lists and values.
type plainYAML struct{ found string }

// Visit implements ast.Visitor.
func (p *plainYAML) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.AnchorNode:
		p.found = "an anchor (line " + fmt.Sprint(n.GetToken().Position.Line) + ")"
	case *ast.AliasNode:
		p.found = "an alias (line " + fmt.Sprint(n.GetToken().Position.Line) + ")"
	case *ast.TagNode:
		p.found = "a tag (line " + fmt.Sprint(n.GetToken().Position.Line) + ")"
	}
	return p
}

// firstLine keeps the first line of an error of the YAML library, which draws the place below it.
func firstLine(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}
