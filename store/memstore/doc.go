// Package memstore is a store.Log in memory: for tests, and for runs that nobody wants to resume.
//
// What was committed lives as long as the Log value and no longer. It refuses nothing that the contract
// allows, and never fails: it does not return ErrFailed, ErrInUse or ErrVersion. One lock guards
// everything, and no call holds it while it waits.
//
// host's tests and cmd import it; it imports store and the standard library.
package memstore
