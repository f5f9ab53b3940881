package sealed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	keyLen = 32 // of every secret here: AES-256, and HMAC-SHA-256 without a loss
	idLen  = 8  // of a key's id
)

// secret gives bytes that nobody may see. It is a function because package fmt follows pointers to what is
// in the unexported fields of a struct, for verbs that do not fit; of a function it prints the address.
type secret func() []byte

func newSecret(bytes []byte) secret { return func() []byte { return bytes } }

// Key is the secret of a key file. It prints as its id.
type Key struct {
	secret secret
}

// ID names the key; it is public. Two keys have the same one by chance alone.
func (k Key) ID() string {
	id := k.id()
	return hex.EncodeToString(id[:])
}

func (k Key) id() [idLen]byte {
	mac := hmac.New(sha256.New, k.secret())
	mac.Write([]byte("axishost key id"))
	return [idLen]byte(mac.Sum(nil))
}

// String gives the id, never the secret.
func (k Key) String() string { return "key " + k.ID() }

// GoString gives what String does.
func (k Key) GoString() string { return k.String() }

// Format prints what String gives, for every verb.
func (k Key) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, k.String())
}

// The text of a key file is keyPrefix, keyVersion, a colon, the key in base64, and a line break. The version
// is there to be raised when a key becomes something else; an older binary then refuses the file.
const (
	keyPrefix  = "axishost-key-"
	keyVersion = "1"
)

func formatKey(k Key) []byte {
	return []byte(keyPrefix + keyVersion + ":" + base64.StdEncoding.EncodeToString(k.secret()) + "\n")
}

// parseKey reads the text of a key file. Its errors quote nothing that could be of a secret.
func parseKey(text []byte) (*Key, error) {
	line := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if line == "" {
		return nil, errors.New("it is empty: copy the key file again, or make a new one for a new store")
	}
	rest, ok := strings.CutPrefix(line, keyPrefix)
	version, encoded, colon := strings.Cut(rest, ":")
	if !ok || !colon || !isNumber(version) {
		return nil, errors.New("it is not a key file, which is one line: " + keyPrefix + keyVersion + ":, and the key in base64")
	}
	if version != keyVersion {
		return nil, fmt.Errorf("it has version %s and this axishost reads version %s: use a newer axishost", version, keyVersion)
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") { // which the decoder passes over
		return nil, errors.New("its key is not one line of base64: copy the key file again")
	}
	if len(key) != keyLen {
		return nil, fmt.Errorf("its key has %d bytes and needs %d: copy the key file again", len(key), keyLen)
	}
	return &Key{newSecret(key)}, nil
}

// isNumber says whether s is a version: up to four digits, so that an error may quote it.
func isNumber(s string) bool {
	return len(s) >= 1 && len(s) <= 4 && strings.Trim(s, "0123456789") == ""
}
