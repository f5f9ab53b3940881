// Package guest is the Go SDK for axishost plugins. A plugin registers plain Go functions in its init and
// has an empty main:
//
//	func init() {
//		guest.DirectFinal(func(reply string) (string, bool) { … })
//		guest.Tool("calc", func(c guest.Call) guest.Result { … })
//		guest.Tool("append", write).Reconcile(look).Compensate(undo)
//	}
//
//	func main() {}
//
// It is built by stock Go as a WASI reactor, and packed with its manifest (the hooks listed there are the
// ones that the host calls):
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o calc.wasm .
//	axishost plugin pack --manifest axis.json calc.wasm
//
// Built for any other system, the same functions talk to a Stub instead of a host, so a plugin is tested by
// `go test` without WebAssembly.
//
// The package refuses to recover: a panic in a plugin ends its instance, and the host shows the text. It
// keeps nothing between calls, and a plugin that does will not find it again: each call starts from the
// state that init left. A plugin runs on one thread; its functions are never called concurrently.
//
// Plugins import it and package abi, and nothing else of this module.
package guest
