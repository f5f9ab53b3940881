package abi_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/axishost/axishost/abi"
)

func TestCode(t *testing.T) {
	tests := []struct {
		code abi.Code
		want string
	}{
		{abi.CodeDecided, "decided"},
		{abi.CodeNoDecision, "no_decision"},
		{abi.CodeInvalid, "invalid"},
		{abi.CodeNotNow, "not_now"},
		{2, "code 2"},
		{-16, "code -16"},
		{math.MinInt32, "code -2147483648"},
		{math.MaxInt32, "code 2147483647"},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, test.code.String())
		assert.Equal(t, test.want, test.code.Error())
	}
	err := fmt.Errorf("kv.get/1: %w", abi.CodeDenied)
	assert.True(t, errors.Is(err, abi.CodeDenied))
	assert.False(t, errors.Is(err, abi.CodeUnknown))
}

func TestFunction(t *testing.T) {
	tests := []struct {
		f    abi.Function
		want string
	}{
		{abi.Function{Name: "f"}, "f() -> ()"},
		{abi.HookType(abi.HookStart), "axis_v1_start(i32) -> i32"},
		{abi.Function{Name: "g", Params: []abi.ValueType{abi.I32, abi.I64}, Results: []abi.ValueType{abi.I64, abi.I32}}, "g(i32, i64) -> i64, i32"},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, test.f.String())
		assert.True(t, test.f.SameType(abi.Function{Name: "other", Params: test.f.Params, Results: test.f.Results}))
	}
	assert.False(t, tests[0].f.SameType(tests[1].f))
}

// TestFunctionOfManyValues: the text of a type is short, however many values a module announces.
func TestFunctionOfManyValues(t *testing.T) {
	values := func(n int) []abi.ValueType { return slices.Repeat([]abi.ValueType{abi.I32}, n) }
	sixteen := "i32" + strings.Repeat(", i32", 15)
	assert.Equal(t, "("+sixteen+") -> "+sixteen, abi.Function{Params: values(16), Results: values(16)}.Type())
	assert.Equal(t, "("+sixteen+", … 1 more) -> "+sixteen+", … 99984 more", abi.Function{Params: values(17), Results: values(100_000)}.Type())
}

func TestListsAreTheCallersOwn(t *testing.T) {
	abi.Hooks()[0].Name = "changed"
	abi.Imports()[0].Params[0] = abi.I64
	abi.Operations()[0].Served = false
	abi.WASIImports()[0] = "changed"
	assert.Equal(t, abi.HookDirectFinal, abi.Hooks()[0].Name)
	assert.Equal(t, "input_read(i32, i32, i32) -> i32", abi.Imports()[0].String())
	assert.True(t, abi.Operations()[0].Served)
	assert.Equal(t, "args_get", abi.WASIImports()[0])
}

func TestLookup(t *testing.T) {
	hook, ok := abi.LookupHook(abi.HookToolCall)
	assert.True(t, ok && hook.Tool && hook.Served)
	_, ok = abi.LookupHook("axis_v1_refusal")
	assert.False(t, ok)
	op, ok := abi.LookupOperation(abi.OpHTTPFetch)
	assert.True(t, ok)
	assert.True(t, op.Served)
	_, ok = abi.LookupOperation("http.fetch")
	assert.False(t, ok)
}

func TestNamesAreDistinct(t *testing.T) {
	var names []string
	for _, h := range abi.Hooks() {
		names = append(names, h.Name.Export())
		assert.True(t, strings.HasPrefix(h.Name.Export(), abi.HookPrefix))
	}
	for _, f := range abi.Imports() {
		names = append(names, f.Name)
	}
	for _, op := range abi.Operations() {
		names = append(names, string(op.Name))
	}
	seen := map[string]bool{}
	for _, name := range names {
		assert.False(t, seen[name], "%s is there twice", name)
		seen[name] = true
	}
}
