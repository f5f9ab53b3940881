package task

import (
	"slices"
	"strconv"
	"strings"

	"github.com/axishost/axishost/host/internal/event"
)

// Outbound are the outbound operations of one attempt that may change something.
type Outbound struct {
	// Operations counts those that had begun, but for those of which nothing was sent.
	Operations int64
	// Landed counts those of them that were answered as done.
	Landed int64
	// Open are the numbers of those of which nobody knows what they did: there is no answer, or one of a server that failed.
	Open []int64
}

// take counts what an event says of an operation. What never began, since it was denied, takes nothing back.
func (o *Outbound) take(p *event.HostOperation) {
	if !p.Write {
		return
	}
	if p.State == event.OperationBegun {
		o.Operations++
		o.Open = append(slices.Clone(o.Open), p.Number) // copies of a step share what they had
		return
	}
	i := slices.Index(o.Open, p.Number)
	if i < 0 {
		return
	}
	switch {
	case p.State == event.OperationDone:
		o.Landed++
	case p.Sent == 0:
		o.Operations--
	case !refused(p):
		return
	}
	o.Open = slices.Delete(slices.Clone(o.Open), i, i+1)
}

// refused tells whether the other side answered that it did not do it: with a status of 400 to 499.
func refused(p *event.HostOperation) bool {
	status, _, _ := strings.Cut(p.Result, " ")
	n, err := strconv.Atoi(status)
	return err == nil && n >= 400 && n < 500
}
