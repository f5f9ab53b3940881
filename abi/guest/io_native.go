//go:build !wasip1

package guest

// The host functions, answered by the stub of the call that is running. With none, which is how init runs,
// only log may be called.

func inputRead(off uint32, buf []byte) int32 { return running.inputRead(off, buf) }

func outputWrite(data []byte) int32 { return running.outputWrite(data) }

func outputEmit(kind int32, text string) int32 { return running.outputEmit(kind, text) }

func errorSet(code int32, text string) int32 { return running.errorSet(code, text) }

func logLine(level int32, text string) int32 { return running.log(level, text) }

func hostCall(op, request string) int64 { return running.hostCall(op, request) }

func respLen(handle int32) int32 { return running.respLen(handle) }

func respRead(handle int32, off uint32, buf []byte) int32 { return running.respRead(handle, off, buf) }

func respClose(handle int32) int32 { return running.respClose(handle) }
