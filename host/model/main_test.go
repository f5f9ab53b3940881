package model

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-test-0123456789abcdef"

// serve runs handler as an endpoint and returns a client of it.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return client(t, Options{BaseURL: server.URL + "/v1"})
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Model == "" {
		o.Model = "m"
	}
	if o.APIKey == "" {
		o.APIKey = testKey
	}
	c, err := New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// stream is a handler that answers with events as they are in body.
func stream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// answer is a handler that answers with a status, a content type and a body.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func ask(t *testing.T, c *Client) (*Reply, error) {
	t.Helper()
	return c.Complete(context.Background(), Request{Messages: []Message{{Role: RoleUser, Content: "hello"}}}, nil)
}

// askError asks and expects an *Error.
func askError(t *testing.T, c *Client) *Error {
	t.Helper()
	reply, err := ask(t, c)
	require.Nil(t, reply)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.NotContains(t, e.Error(), "\n")
	return e
}
