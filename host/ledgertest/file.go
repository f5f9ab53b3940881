package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ReadFile reads the effects in a ledger's file, also while a server writes it. A last line that is not whole is an
// effect that has not happened: the server writes a line before it acts on it.
func ReadFile(path string) ([]Effect, error) {
	effects, _, err := readFile(path)
	return effects, err
}

// readFile also says how many bytes the whole lines have.
func readFile(path string) ([]Effect, int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	l := newLedger(nil)
	whole := int64(0)
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e Effect
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, fmt.Errorf("%s: effect %d: %w", path, len(l.effects)+1, err)
		}
		if err := l.fits(e); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", path, err)
		}
		l.apply(e)
		whole += int64(len(line))
	}
	return l.effects, whole, nil
}

// openFile opens a ledger's file for more effects, and makes it where there is none. Half a line at its end goes.
func openFile(path string) (*os.File, []Effect, error) {
	effects, whole, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := file.Truncate(whole); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, effects, nil
}

// appendTo writes an effect in one call, so that a process that is killed leaves it whole or not at all. The file is
// not synced: it has to survive processes, not the machine.
func appendTo(file *os.File, e Effect) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return err
}
