package sealed

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzOpenValue: bytes of any kind are an error in any place, but for those few that were sealed there.
func FuzzOpenValue(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "encrypted-1.txt"))
	require.NoError(f, err)
	sealedHere := make(map[string]bool)
	var record []byte
	for line := range strings.Lines(string(text)) {
		for _, field := range strings.Fields(line)[2:] {
			_, value, isBlob := strings.Cut(field, "/")
			if !isBlob {
				value = field
			}
			b, err := hex.DecodeString(value)
			require.NoError(f, err)
			if record == nil {
				record = b
				continue
			}
			sealedHere[string(b)] = true
			f.Add(b)
		}
	}
	key, err := parseKey([]byte("axishost-key-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="))
	require.NoError(f, err)
	_, k, err := parseRecord(record, key)
	require.NoError(f, err)
	const task = "01J0GOLDEN"
	f.Fuzz(func(t *testing.T, value []byte) {
		opened := 0
		for _, p := range []place{
			{kind: kindRecord, task: task, seq: 1}, {kind: kindRecord, task: task, seq: 2},
			{kind: kindBlob, task: task, blob: "digest"}, {kind: kindIndex, task: task},
		} {
			plain, err := k.open(aeadOf(k, p), p, bytes.Clone(value))
			if err != nil {
				require.Nil(t, plain)
				require.NotContains(t, err.Error(), "\n")
				continue
			}
			opened++
		}
		if sealedHere[string(value)] {
			require.Equal(t, 1, opened)
		} else {
			require.Zero(t, opened)
		}
	})
}

// FuzzParseRecord: whatever the record of a store is, there is an error or there are keys for its mode.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(newRecord(nil))
	f.Add(newRecord(testKey(1)))
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, key := range []*Key{nil, testKey(1)} {
			m, k, err := parseRecord(bytes.Clone(record), key)
			if err != nil {
				require.NotContains(t, err.Error(), "\n")
				continue
			}
			require.NotNil(t, k)
			require.Equal(t, m == modeEncrypted, key != nil)
		}
	})
}

// FuzzParseKey: an error quotes nothing of a text that may be a secret, and a key has one text.
func FuzzParseKey(f *testing.F) {
	f.Add(formatKey(*testKey(1)))
	f.Add([]byte("axishost-key-2:x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := parseKey(text)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Equal(t, strings.TrimRight(string(text), "\r\n")+"\n", string(formatKey(*k)))
	})
}
