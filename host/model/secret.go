package model

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuote is how many bytes of foreign text an error shows.
const maxQuote = 300

// minSecret is how long a secret must be to be one: local servers take any key, and "x" taken out of every text
// leaves none that can be read.
const minSecret = 8

// hide makes a text a secret, in every writing in which an endpoint may send it back.
func (s *site) hide(secret string) {
	if len(secret) < minSecret {
		return
	}
	quoted, _ := json.Marshal(secret)
	goQuoted := strconv.Quote(secret)
	for _, form := range []string{
		secret, string(quoted[1 : len(quoted)-1]), goQuoted[1 : len(goQuoted)-1],
		url.QueryEscape(secret), url.PathEscape(secret),
	} {
		if !slices.Contains(s.secrets, form) {
			s.secrets = append(s.secrets, form)
		}
	}
}

// minHidden is how long a secret must be to be looked for in replies: keys of hosted endpoints are longer, and
// a local server's "ollama" or "none" is a word that replies may well hold.
const minHidden = 16

// withoutSecrets takes the secrets out of a reply: an endpoint that echoes its request would put the key into
// the log, the model's context and the answer.
func (s site) withoutSecrets(r *Reply) *Reply {
	for _, secret := range s.secrets {
		if len(secret) < minHidden {
			continue
		}
		hide := func(text *string) { *text = strings.ReplaceAll(*text, secret, "[redacted]") }
		hide(&r.Message.Content)
		hide(&r.Message.Reasoning)
		for i := range r.Message.ToolCalls {
			hide(&r.Message.ToolCalls[i].Arguments)
		}
	}
	return r
}

// clean is err where it tells no secret, else an error with its redacted text.
func (s site) clean(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); s.redact(text) != text {
		return errors.New(s.redact(text))
	}
	return err
}

// quote shows foreign text: without secrets, cut, in quotes, control characters escaped.
func (s site) quote(text string) string {
	return strconv.Quote(cutText(strings.TrimSpace(s.redact(text))))
}

// plain is quote without the quotes, for texts of the standard library.
func (s site) plain(text string) string {
	quoted := s.quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func cutText(text string) string {
	if len(text) <= maxQuote {
		return text
	}
	end := maxQuote
	for end > maxQuote-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// redact takes the secrets out of a text, and the head of one off its end: the text may have been cut there.
func (s site) redact(text string) string {
	const gone = "[redacted]"
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, gone)
		for n := min(len(secret)-1, len(text)); n >= 8; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				text = text[:len(text)-n] + gone
				break
			}
		}
	}
	return text
}
