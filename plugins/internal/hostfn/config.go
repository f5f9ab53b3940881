package hostfn

import (
	"context"

	"github.com/axishost/axishost/abi"
)

// Config is config/1: the plugin's own configuration, the same for every call.
func Config(object []byte) Operation {
	if len(object) == 0 {
		object = []byte("{}")
	}
	return Operation{
		Takes:   func(request []byte) bool { return len(request) == 0 },
		Perform: func(context.Context, []byte) ([]byte, abi.Code) { return object, 0 },
	}
}
