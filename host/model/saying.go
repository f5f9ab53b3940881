package model

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// saying is what an endpoint says about an error.
type saying struct {
	message string
	kind    string // type and code, lower case
	status  int    // of an error inside a stream
}

// parseSaying reads an error body in the shapes that are about: {"error":{...}}, {"error":"..."},
// {"message":...}, {"detail":...}. What is none of them is quoted as it is.
func parseSaying(body []byte) saying {
	var object struct {
		Error   json.RawMessage `json:"error"`
		Message text            `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    text            `json:"type"`
		Code    text            `json:"code"`
		Status  text            `json:"status"`
	}
	body = bytes.TrimSpace(body)
	if json.Unmarshal(body, &object) != nil {
		var plain text
		if json.Unmarshal(body, &plain) == nil && plain != "" {
			return saying{message: string(plain)}
		}
		return saying{message: string(body)}
	}
	if len(object.Error) > 0 && string(object.Error) != "null" {
		inner := parseSaying(object.Error)
		inner.kind = strings.TrimSpace(inner.kind + " " + strings.ToLower(string(object.Type)))
		return inner
	}
	said := saying{
		message: string(object.Message),
		kind:    strings.ToLower(strings.TrimSpace(string(object.Type + " " + object.Code + " " + object.Status))),
	}
	if said.message == "" && len(object.Detail) > 0 {
		said = parseSaying(object.Detail)
	}
	if said.message == "" {
		said.message = string(body)
	}
	for _, code := range []text{object.Code, object.Status} {
		if n, err := strconv.Atoi(string(code)); err == nil && n >= 400 && n <= 599 {
			said.status = n
		}
	}
	return said
}

// statusOrGuess is the status that the words of an error inside a stream stand for.
func (s saying) statusOrGuess() int {
	if s.status != 0 {
		return s.status
	}
	switch {
	case s.hasKind("rate_limit", "insufficient_quota", "too_many"):
		return http.StatusTooManyRequests
	case s.hasKind("authentication", "invalid_api_key", "permission"):
		return http.StatusUnauthorized
	case s.hasKind("model_not_found", "not_found"):
		return http.StatusNotFound
	case s.hasKind("invalid_request", "badrequest", "bad_request", "context_length"):
		return http.StatusBadRequest
	}
	return 0
}

func (s saying) hasKind(words ...string) bool {
	return containsAny(s.kind, words...)
}

func containsAny(text string, words ...string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// class is what a status and the words beside it mean. Overflow of the context comes with many statuses, 500
// among them, and must not be taken for what trying again helps against.
func (s saying) class(status int) Class {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ClassAuth
	case status == http.StatusPaymentRequired || status == http.StatusTooManyRequests && s.quota():
		return ClassQuota
	case status == http.StatusTooManyRequests:
		return ClassRateLimited
	case status == http.StatusRequestEntityTooLarge || s.contextLimit():
		return ClassContextLimit
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || s.hasKind("model_not_found"):
		return ClassNotFound
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly:
		return ClassTransient
	case status >= 500 && status != http.StatusNotImplemented:
		return ClassTransient
	case status < 400:
		return ClassProtocol
	}
	return ClassInvalidRequest
}

func (s saying) quota() bool {
	return s.hasKind("insufficient_quota", "billing") ||
		containsAny(strings.ToLower(s.message), "exceeded your current quota", "insufficient balance", "insufficient credit")
}

// contextLimit tells whether the words speak of a request longer than the model's context. Every endpoint has
// its own sentence; they share a word for the context, one for its measure and one for going beyond it.
func (s saying) contextLimit() bool {
	m := strings.ToLower(s.message)
	return s.hasKind("context_length_exceeded", "exceed_context_size") ||
		containsAny(m, "prompt is too long", "prompt too long", "input is too long", "input too long", "input length",
			"input token count", "too many tokens", "reduce the length of") ||
		strings.Contains(m, "context") && containsAny(m, "length", "window", "size", "tokens") &&
			containsAny(m, "exceed", "maximum", "too long", "too large", "longer", "larger", "greater", "overflow", "limit", "not fit")
}

// retryAfter is how long the endpoint asks to wait: by header in milliseconds, in seconds or as a date, else
// by the words of its message. 0 where it does not ask.
func retryAfter(h http.Header, said saying) time.Duration {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return wait(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, ok := number(value); ok {
		return wait(seconds)
	}
	if date, err := http.ParseTime(value); err == nil {
		// The endpoint's own clock, where it shows it, makes ours irrelevant.
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return wait(date.Sub(now).Seconds())
	}
	if m := regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:[0-9.]+(?:ms|[hms]))+)`).FindStringSubmatch(said.message); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil {
			return wait(d.Seconds())
		}
	}
	return 0
}

func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// wait bounds seconds so that they fit a Duration: a century is as good as for ever.
func wait(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), 100*365*24*3600) * float64(time.Second))
}
