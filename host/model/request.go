package model

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sashabaranov/go-openai"
)

// wireRequest is go-openai's request with messages of our own: go-openai leaves out empty content and empty
// arguments, which some endpoints refuse.
type wireRequest struct {
	openai.ChatCompletionRequest
	Messages []wireMessage `json:"messages"`
}

// wireMessage always has the key content: null for an assistant that only calls tools, else a string, which
// may be empty.
type wireMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Name             string     `json:"name,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	ToolCalls        []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	ID       string          `json:"id"`
	Type     openai.ToolType `json:"type"`
	Function wireFunction    `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encode gives the same bytes for the same request, so that endpoints can reuse what they cached of it.
func encode(model string, req Request) ([]byte, error) {
	wire := wireRequest{
		ChatCompletionRequest: openai.ChatCompletionRequest{
			Model:         model,
			Stream:        true,
			StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		},
		Messages: make([]wireMessage, 0, len(req.Messages)),
	}
	for _, m := range req.Messages {
		wire.Messages = append(wire.Messages, encodeMessage(m))
	}
	for _, t := range req.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if !json.Valid(schema) {
			return nil, fmt.Errorf("the schema of tool %q is not JSON", t.Name)
		}
		wire.Tools = append(wire.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: schema},
		})
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(wire); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func encodeMessage(m Message) wireMessage {
	wire := wireMessage{
		Role:             m.Role,
		Content:          &m.Content,
		ReasoningContent: m.Reasoning,
		Name:             m.Name,
		ToolCallID:       m.ToolCallID,
	}
	if m.Role == RoleAssistant && len(m.ToolCalls) > 0 && m.Content == "" {
		wire.Content = nil
	}
	for _, call := range m.ToolCalls {
		arguments := call.Arguments
		if arguments == "" {
			// Servers parse the arguments of past calls, and the empty text is not JSON.
			arguments = "{}"
		}
		wire.ToolCalls = append(wire.ToolCalls, wireCall{
			ID:       call.ID,
			Type:     openai.ToolTypeFunction,
			Function: wireFunction{Name: call.Name, Arguments: arguments},
		})
	}
	return wire
}
