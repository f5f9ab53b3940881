package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/axishost/axishost/abi/guest"
)

// retryAfter reads how long the other side asks to wait, in milliseconds: 0 when it does not say. A date is held
// against the answer's own: a guest has no clock.
func retryAfter(r guest.Response) int64 {
	text := strings.TrimSpace(r.Header("retry-after"))
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(seconds, 0) * 1000
	}
	at, known := date(text)
	now, dated := date(r.Header("date"))
	if !known || !dated {
		return 0
	}
	return max(at.Sub(now).Milliseconds(), 0)
}

// date reads a date as HTTP writes it (RFC 9110, 5.6.7). Package net/http has this too, and would make the guest three
// times as large.
func date(text string) (time.Time, bool) {
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
