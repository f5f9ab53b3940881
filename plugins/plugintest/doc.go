// Package plugintest assembles small WebAssembly modules for the tests of plugins: well-formed ones through
// Module, and any sequence of bytes at all through Section and the encoders. It checks nothing, since most of what
// it makes is wrong on purpose. Only tests import it.
package plugintest
