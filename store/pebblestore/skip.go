package pebblestore

import (
	"math/big"

	"github.com/cockroachdb/pebble/v2"
)

// skip moves the iterator to the first key after a damaged stretch that begins after `after`, and says whether
// there is one below upper. Nobody knows how far the stretch goes: seeking to a key in it is an error, seeking
// behind it is none, and between the two lies what halving finds. When there are several stretches it finds
// the end of one of them.
func (v *verifier) skip(after, upper []byte) (bool, error) {
	n := 0 // bytes that both have in common
	for n < len(after) && n < len(upper) && after[n] == upper[n] {
		n++
	}
	prefix, size := upper[:n], max(len(after), len(upper))-n+finest
	number := func(key []byte) *big.Int {
		padded := make([]byte, size)
		copy(padded, key[n:])
		return new(big.Int).SetBytes(padded)
	}
	key := func(x *big.Int) []byte {
		return append(append([]byte{}, prefix...), x.FillBytes(make([]byte, size))...)
	}
	low, high := number(after), number(upper) // low cannot be read; from high on there is nothing, or something readable
	one, middle := big.NewInt(1), new(big.Int)
	for middle.Sub(high, low).Cmp(one) > 0 {
		if err := v.ctx.Err(); err != nil {
			return false, err
		}
		middle.Add(low, high).Rsh(middle, 1)
		switch _, err := v.seekAfresh(key(middle), upper); {
		case err == nil:
			high.Set(middle)
		case pebble.IsCorruptionError(err):
			low.Set(middle)
		default:
			return false, err
		}
	}
	valid, err := v.seekAfresh(key(high), upper)
	if err != nil && !pebble.IsCorruptionError(err) {
		return false, err
	}
	return valid, nil
}

// seekAfresh seeks with a new iterator of the same view, since one that has met damage can remember it where there
// is none.
func (v *verifier) seekAfresh(key, upper []byte) (bool, error) {
	it, err := v.it.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{UpperBound: upper}})
	if err != nil {
		return false, err
	}
	_ = v.it.Close() // with the error that it has met
	v.it = it
	return it.SeekGE(key), it.Error()
}

// finest is how many bytes more than the bounds the keys have that skip tries: enough for the number of a
// record, and for ids and blob keys of which the first bytes differ.
const finest = 32
