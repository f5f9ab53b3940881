// Package plugintest assembles small WebAssembly modules for the tests of plugins: well-formed ones through
// Module, and any sequence of bytes at all through Section and the encoders. It checks nothing, since most of what
// it makes is wrong on purpose. AllRefused has a file for each way of being refused. Only tests and the program
// behind make demo-refusals import it.
package plugintest
