// Package storetest is the conformance suite of store.Log: what the contract says, sentence by sentence, as
// tests that every backend passes. A backend's own test is a Factory and a call of Run, and beside it only
// what is particular to the backend.
//
// The suite uses nothing but the contract, waits for no clock, and is meant to run with the race detector.
// Tests of backends import it; it imports store and test libraries.
package storetest
