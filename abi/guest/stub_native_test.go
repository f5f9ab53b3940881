package guest

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/axishost/axishost/abi"
)

// during runs f inside a call of a hook, where the host functions may be used.
func during(t *testing.T, s Stub, f func()) Outcome {
	t.Helper()
	r := register(t, func() {
		DirectFinal(func(string) (string, bool) { f(); return "", false })
	})
	return s.invoke(r, abi.HookDirectFinal, "input")
}

func TestConfig(t *testing.T) {
	type config struct {
		Table map[string]string `json:"table"`
	}
	tests := []struct {
		name string
		stub Stub
		want string
	}{
		{"given", Stub{Config: `{"table": {"k": "v"}}`}, ""},
		{"none", Stub{}, ""},
		{"unknown key", Stub{Config: `{"tabel": {}}`}, `configuration: unknown field "tabel"`},
		{"not granted", Stub{Denied: true}, "config/1: denied"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got config
			var err error
			during(t, test.stub, func() { err = Config(&got) })
			if test.want != "" {
				require.EqualError(t, err, test.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.stub.Config != "", got.Table["k"] == "v")
		})
	}
}

func TestOnlyLogOutsideACall(t *testing.T) {
	notNow := int32(abi.CodeNotNow)
	Log(abi.LogInfo, "from init")
	assert.Equal(t, int32(0), logLine(int32(abi.LogInfo), "from init"))
	assert.Equal(t, notNow, inputRead(0, nil))
	assert.Equal(t, notNow, outputWrite(nil))
	assert.Equal(t, notNow, outputEmit(0, ""))
	assert.Equal(t, notNow, errorSet(-1, ""))
	assert.Equal(t, int64(notNow), hostCall("config/1", ""))
	assert.Equal(t, notNow, respLen(1))
	assert.Equal(t, notNow, respRead(1, 0, nil))
	assert.Equal(t, notNow, respClose(1))
	require.ErrorIs(t, Config(&struct{}{}), abi.CodeNotNow)
}

func TestInputRead(t *testing.T) {
	during(t, Stub{}, func() {
		buf := make([]byte, 3)
		assert.Equal(t, int32(3), inputRead(1, buf))
		assert.Equal(t, "npu", string(buf))
		assert.Equal(t, int32(1), inputRead(4, buf), "less than the room")
		assert.Equal(t, int32(0), inputRead(5, buf), "at the end")
		assert.Equal(t, int32(0), inputRead(1<<32-1, buf), "past the end")
	})
}

func TestErrorSet(t *testing.T) {
	got := during(t, Stub{}, func() {
		assert.Equal(t, int32(0), errorSet(int32(abi.CodeFailed), "first"))
		assert.Equal(t, int32(0), errorSet(int32(abi.CodeFailed), "x"+strings.Repeat("é", abi.MaxErrorBytes)))
		assert.Equal(t, int32(abi.CodeInvalid), errorSet(0, "zero is no error"))
	})
	assert.Equal(t, "x"+strings.Repeat("é", (abi.MaxErrorBytes-1)/2), got.Error)
}

func TestLogAndProgress(t *testing.T) {
	got := during(t, Stub{OutputBytes: 10}, func() {
		assert.Equal(t, int32(abi.CodeInvalid), logLine(4, "no such level"))
		assert.Equal(t, int32(abi.CodeInvalid), logLine(-1, "no such level"))
		Log(abi.LogDebug, strings.Repeat("x", abi.MaxLogBytes+1))
		for range abi.MaxLogLines - 1 {
			Log(abi.LogError, "line")
		}
		assert.Equal(t, int32(abi.CodeNoSpace), logLine(0, "one too many"))

		Progress("half way")
		assert.Equal(t, int32(abi.CodeNoSpace), outputEmit(int32(abi.EmitChunk), "too long"))
		assert.Equal(t, int32(0), outputEmit(int32(abi.EmitChunk), "ok"))
		assert.Equal(t, int32(abi.CodeInvalid), outputEmit(2, ""))
		assert.Equal(t, int32(abi.CodeTooLarge), outputEmit(0, strings.Repeat("x", abi.MaxEmitBytes+1)))
	})
	require.Len(t, got.Log, abi.MaxLogLines)
	assert.Len(t, got.Log[0], abi.MaxLogBytes)
	assert.Equal(t, []string{"half way", "ok"}, got.Progress)
}

func TestHostCall(t *testing.T) {
	during(t, Stub{Config: `{"a":1}`}, func() {
		assert.Equal(t, int64(abi.CodeUnknown), hostCall("nonsense/1", ""))
		assert.Equal(t, int64(abi.CodeUnknown), hostCall("kv.get/1", ""), "specified, not served")
		assert.Equal(t, int64(abi.CodeInvalid), hostCall("config/1", "{}"))
		assert.Equal(t, int64(abi.CodeTooLarge), hostCall(strings.Repeat("o", abi.MaxOperationName+1), ""))
		assert.Equal(t, int64(abi.CodeTooLarge), hostCall("config/1", strings.Repeat("r", abi.MaxRequestBytes+1)))

		for want := range int64(abi.MaxHandles) {
			assert.Equal(t, want+1, hostCall("config/1", ""))
		}
		assert.Equal(t, int64(abi.CodeTooMany), hostCall("config/1", ""))

		buf := make([]byte, 9)
		assert.Equal(t, int32(7), respLen(2))
		assert.Equal(t, int32(6), respRead(2, 1, buf))
		assert.Equal(t, `"a":1}`, string(buf[:6]))
		assert.Equal(t, int32(0), respClose(2))
		assert.Equal(t, int32(abi.CodeBadHandle), respClose(2))
		assert.Equal(t, int32(abi.CodeBadHandle), respLen(2))
		assert.Equal(t, int32(abi.CodeBadHandle), respRead(2, 0, buf))
		assert.Equal(t, int64(abi.MaxHandles+1), hostCall("config/1", ""), "handles are not given twice")
	})
}

func TestStubsDoNotMix(t *testing.T) {
	r := register(t, func() {
		DirectFinal(func(reply string) (string, bool) {
			var v struct{ Name string }
			err := Config(&v)
			return v.Name + reply, err == nil
		})
	})
	var wait sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		wait.Go(func() {
			for range 100 {
				got := Stub{Config: `{"Name": "` + name + `"}`}.invoke(r, abi.HookDirectFinal, name)
				assert.Equal(t, name+name, got.Output)
			}
		})
	}
	wait.Wait()
}

func TestRegistrationIsFoundByInvoke(t *testing.T) {
	assert.Equal(t, abi.CodeUnsupported, Stub{}.Invoke(abi.HookRefusal, "").Code)
	_, err := Stub{}.CallTool("none", `{}`)
	require.ErrorIs(t, err, abi.CodeUnsupported)
}
