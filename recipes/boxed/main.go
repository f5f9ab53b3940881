// Command boxed is a recipe for models that answer in \boxed{}: it finds the answer, tells refusals in
// English and Chinese, and notices text that was meant to be a tool call. Its axis.json says what the host
// does about them.
package main

import (
	"strings"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/abi/guest"
)

func init() {
	guest.DirectFinal(lastBox)
	guest.Refusal(refusal)
	guest.FormatError(formatError)
	guest.FinalOutput(finalOutput)
}

func main() {}

// finalOutput finds the answer where no reply was taken as a direct one: after the prompt for a final
// response, and in a forced last turn. Without a box in the last reply the host's default holds, which is
// that reply's whole text.
func finalOutput(messages []abi.Message) (answer string, ok bool, err error) {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "assistant" && strings.TrimSpace(messages[i].Content) != "" {
			answer, _ = lastBox(messages[i].Content)
			return answer, answer != "", nil
		}
	}
	return "", false, nil
}
