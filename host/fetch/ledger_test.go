package fetch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/host/ledgertest"
)

// Sent is what decides whether the outcome of a write is known, so it is held against the service's own count.
// The ledger takes every POST as new: a repetition that nobody asked for would show.
func TestSentAgainstALedger(t *testing.T) {
	for _, test := range []struct {
		trouble ledgertest.Trouble
		effects int
		status  int // of the answer, where there is one
	}{
		{ledgertest.LoseRequest, 0, 0},
		{ledgertest.LoseReply, 1, 0},
		{ledgertest.FailBefore, 0, 500},
		{ledgertest.FailAfter, 1, 500},
		{ledgertest.RateLimit, 0, 429},
		{ledgertest.Trickle, 1, 201},
	} {
		t.Run(string(test.trouble), func(t *testing.T) {
			ledger, err := ledgertest.New(ledgertest.Options{Raw: true, Faults: []ledgertest.Fault{{Trouble: test.trouble}}})
			require.NoError(t, err)
			defer ledger.Close()
			c := newClient(t, Options{}, ledger.URL()[len("http://"):])
			resp, err := c.Do(within(t), Request{
				Method: "POST", URL: ledger.URL() + "/entries",
				Header: map[string]string{"Idempotency-Key": "k"}, Body: []byte(`{"account":"a","amount":1}`),
			})
			if test.status == 0 {
				assert.True(t, requireTransport(t, err).Sent)
			} else {
				require.NoError(t, err)
				assert.Equal(t, test.status, resp.Status)
			}
			assert.Len(t, ledger.Effects(), test.effects)
			assert.Equal(t, 1, ledger.Stats().Posts)

			resp, err = c.Do(within(t), Request{URL: ledger.URL() + "/entries?key=k"})
			require.NoError(t, err)
			assert.Equal(t, map[int]int{0: 404, 1: 200}[test.effects], resp.Status)
		})
	}
}
