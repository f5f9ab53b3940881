package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ordinalHeader is model.OrdinalHeader; a test holds them together.
const ordinalHeader = "X-Axishost-Ordinal"

// maxRequest bounds a request, as a real endpoint does.
const maxRequest = 64 << 20

// request is what the server reads of a request.
type request struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", "the request is not JSON: "+err.Error())
		return
	}
	ordinal, err := s.ordinal(r)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if ordinal > len(s.script.Replies) {
		s.refuse(w, "script_exhausted", fmt.Errorf("script %s has %s and was asked for reply %d",
			s.script.Name, plural(len(s.script.Replies)), ordinal))
		return
	}
	reply := s.script.Replies[ordinal-1]
	if err := reply.Expect.check(req); err != nil {
		s.refuse(w, "script_expectation", fmt.Errorf("reply %d of %s expected %w", ordinal, s.script.Name, err))
		return
	}
	if reply.Delay > 0 {
		timer := time.NewTimer(reply.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	answer := newAnswer(reply, ordinal, req)
	switch {
	case reply.HTTPStatus >= 400:
		answer.refuse(w)
	case req.Stream:
		answer.stream(w)
	default:
		answer.whole(w)
	}
}

func (s *Server) ordinal(r *http.Request) (int, error) {
	value := r.Header.Get(ordinalHeader)
	if value == "" {
		return s.next(), nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("the header %s must be a whole number from 1, not %.40q", ordinalHeader, value)
	}
	return n, nil
}

// refuse answers with a status that no client tries again.
func (s *Server) refuse(w http.ResponseWriter, kind string, err error) {
	s.fail(err)
	writeError(w, http.StatusUnprocessableEntity, kind, err.Error())
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{
		{"id": "script", "object": "model", "created": 0, "owned_by": "axishost"},
	}})
}

func plural(replies int) string {
	if replies == 1 {
		return "1 reply"
	}
	return fmt.Sprintf("%d replies", replies)
}

// check compares a request with what is expected; its error goes on "expected …, got …".
func (e *Expect) check(req request) error {
	if e == nil {
		return nil
	}
	role, content := "no message", ""
	if n := len(req.Messages); n > 0 {
		role, content = req.Messages[n-1].Role, contentText(req.Messages[n-1].Content)
	}
	if e.LastRole != "" && e.LastRole != role {
		return fmt.Errorf("last_role %s, got %s", e.LastRole, role)
	}
	for _, want := range e.Contains {
		if !strings.Contains(content, want) {
			return fmt.Errorf("the last message to contain '%s', got '%s'", short(want), short(content))
		}
	}
	if e.Tools == nil {
		return nil
	}
	var offered []string
	for _, tool := range req.Tools {
		offered = append(offered, tool.Function.Name)
	}
	want := slices.Sorted(slices.Values(e.Tools))
	if slices.Sort(offered); !slices.Equal(offered, want) {
		return errors.New("the tools [" + strings.Join(want, ", ") + "], got [" + strings.Join(offered, ", ") + "]")
	}
	return nil
}

// contentText is the text of a message's content: a string, or a list of parts.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, part := range parts {
		text += part.Text
	}
	return text
}

// short cuts text so that a whole message stays readable.
func short(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
