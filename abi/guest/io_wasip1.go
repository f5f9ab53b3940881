package guest

import (
	"unsafe"

	"github.com/axishost/axishost/abi"
)

// The host functions. A string parameter becomes two i32, pointer and length. Nothing moves or collects
// memory while the host runs, so a pointer is good for the length of its call.

//go:wasmimport axis_v1 input_read
func hostInputRead(off uint32, buf unsafe.Pointer, size uint32) int32

//go:wasmimport axis_v1 output_write
func hostOutputWrite(buf unsafe.Pointer, size uint32) int32

//go:wasmimport axis_v1 output_emit
func outputEmit(kind int32, text string) int32

//go:wasmimport axis_v1 error_set
func errorSet(code int32, text string) int32

//go:wasmimport axis_v1 log
func logLine(level int32, text string) int32

//go:wasmimport axis_v1 host_call
func hostCall(op, request string) int64

//go:wasmimport axis_v1 resp_len
func respLen(handle int32) int32

//go:wasmimport axis_v1 resp_read
func hostRespRead(handle int32, off uint32, buf unsafe.Pointer, size uint32) int32

//go:wasmimport axis_v1 resp_close
func respClose(handle int32) int32

func inputRead(off uint32, buf []byte) int32 {
	return hostInputRead(off, unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

func outputWrite(data []byte) int32 {
	return hostOutputWrite(unsafe.Pointer(unsafe.SliceData(data)), uint32(len(data)))
}

func respRead(handle int32, off uint32, buf []byte) int32 {
	return hostRespRead(handle, off, unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

// The exports: the marker, and every hook that ABI 1.0-rc serves. Go cannot leave out those that a plugin
// did not register, which is why the manifest and not the export list says what a plugin has.

//go:wasmexport axis_abi_v1
func marker() {}

//go:wasmexport axis_v1_direct_final
func exportDirectFinal(size uint32) int32 { return int32(plugin.serve(abi.HookDirectFinal, size)) }

//go:wasmexport axis_v1_refusal
func exportRefusal(size uint32) int32 { return int32(plugin.serve(abi.HookRefusal, size)) }

//go:wasmexport axis_v1_format_error
func exportFormatError(size uint32) int32 { return int32(plugin.serve(abi.HookFormatError, size)) }

//go:wasmexport axis_v1_prompt_final
func exportPromptFinal(size uint32) int32 { return int32(plugin.serve(abi.HookPromptFinal, size)) }

//go:wasmexport axis_v1_start
func exportStart(size uint32) int32 { return int32(plugin.serve(abi.HookStart, size)) }

//go:wasmexport axis_v1_plan
func exportPlan(size uint32) int32 { return int32(plugin.serve(abi.HookPlan, size)) }

//go:wasmexport axis_v1_compact
func exportCompact(size uint32) int32 { return int32(plugin.serve(abi.HookCompact, size)) }

//go:wasmexport axis_v1_dedupe
func exportDedupe(size uint32) int32 { return int32(plugin.serve(abi.HookDedupe, size)) }

//go:wasmexport axis_v1_tool_outcome
func exportToolOutcome(size uint32) int32 { return int32(plugin.serve(abi.HookToolOutcome, size)) }

//go:wasmexport axis_v1_repair_arguments
func exportRepairArguments(size uint32) int32 {
	return int32(plugin.serve(abi.HookRepairArguments, size))
}

//go:wasmexport axis_v1_verify
func exportVerify(size uint32) int32 { return int32(plugin.serve(abi.HookVerify, size)) }

//go:wasmexport axis_v1_final_output
func exportFinalOutput(size uint32) int32 { return int32(plugin.serve(abi.HookFinalOutput, size)) }

//go:wasmexport axis_v1_tool_call
func exportToolCall(size uint32) int32 { return int32(plugin.serve(abi.HookToolCall, size)) }

//go:wasmexport axis_v1_tool_reconcile
func exportToolReconcile(size uint32) int32 { return int32(plugin.serve(abi.HookToolReconcile, size)) }

//go:wasmexport axis_v1_tool_compensate
func exportToolCompensate(size uint32) int32 {
	return int32(plugin.serve(abi.HookToolCompensate, size))
}

//go:wasmexport axis_v1_tool_preview
func exportToolPreview(size uint32) int32 { return int32(plugin.serve(abi.HookToolPreview, size)) }

//go:wasmexport axis_v1_tool_check
func exportToolCheck(size uint32) int32 { return int32(plugin.serve(abi.HookToolCheck, size)) }
