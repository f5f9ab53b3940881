package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/host/timeline"
	"github.com/axishost/axishost/plugins"
)

// view shows what happens, on standard error: the timeline, and on a terminal a line below it that says
// what is waited for. Its methods may be called by several goroutines.
type view struct {
	mu       sync.Mutex
	out      io.Writer
	timeline *timeline.Timeline
	level    level
	colour   bool
	live     bool // out is a terminal: the waiting line can be overwritten
	waiting  bool // it stands there
	since    time.Time
	streamed int
	quit     chan struct{}
	done     sync.WaitGroup
}

// level says how much is told.
type level int

const (
	normal  level = iota
	quiet         // nothing but errors and results
	verbose       // also what is routine
)

func newView(out io.Writer, l level) *view {
	live := isTerminal(out) && os.Getenv("TERM") != "dumb" && l != quiet
	noColour := os.Getenv("NO_COLOR") != "" // no-color.org
	v := &view{out: out, timeline: timeline.New(), level: l, live: live, colour: live && !noColour, quit: make(chan struct{})}
	if live {
		v.done.Go(v.tick)
	}
	return v
}

// events wires the view to a host.
func (v *view) events() host.Events {
	return host.Events{
		Committed: v.committed,
		Recalled:  v.recalled,
		Known:     v.known,
		Compiling: func(plugin string) {
			v.print(timeline.Line{Kind: timeline.Detail, Text: "compiling " + plugin + " (first use)"})
		},
		Waiting: func(p model.Progress) {
			v.mu.Lock()
			v.streamed = p.ContentBytes + p.ReasoningBytes
			v.mu.Unlock()
		},
		PluginLog: func(plugin string, level abi.LogLevel, text string) {
			if level >= abi.LogInfo || v.level == verbose {
				v.print(timeline.Line{Kind: logKind(level), Label: "log", Text: plugin + ": " + text})
			}
		},
		PluginProgress: func(plugin, text string) {
			v.print(timeline.Line{Kind: timeline.Detail, Text: plugin + ": " + text})
		},
	}
}

// held shows for whom a step waits, and with which command lines that is ended, each on a line of its own that is not cut.
func (v *view) held(h host.Holder, approve, resume string) {
	text, command := "a task that nobody runs may have written to it", resume
	switch {
	case h.Process != 0:
		text, command = fmt.Sprintf("task %s writes to it, in process %d", h.Task, h.Process), ""
	case h.Waits:
		text, command = "a person has to find out first what another task did", approve
	}
	lines := []timeline.Line{{Kind: timeline.Notice, Label: "waiting", Text: "for " + plugins.Printable(h.Resource, abi.MaxResourceBytes) + ": " + text}}
	if command != "" {
		lines = append(lines, timeline.Line{Kind: timeline.Notice, Text: command})
	}
	v.show(v.screen().whole(), v.level.told(lines))
}

// logKind is how a line that a plugin logged looks: what went well is no warning.
func logKind(level abi.LogLevel) timeline.Kind {
	switch {
	case level >= abi.LogWarn:
		return timeline.Notice
	case level >= abi.LogInfo:
		return timeline.Plain
	default:
		return timeline.Detail
	}
}

// recalled takes in what a resumed task had done before; of which task it is, is shown.
func (v *view) recalled(e *host.Event) {
	if lines := v.timeline.Event(e); e.Seq == 1 {
		v.print(lines...)
	}
}

// known tells that what was submitted is a task already.
func (v *view) known(_, phase string) {
	text := "the key is this task's: it goes on"
	if s := (host.Summary{Phase: phase}); s.Ended() {
		text = "the key is this task's, which has ended (" + phase + ")"
	}
	v.print(timeline.Line{Kind: timeline.Notice, Label: "known", Text: text})
}

func (v *view) committed(e *host.Event) {
	lines := v.timeline.Event(e)
	v.print(lines...)
	v.mu.Lock()
	v.since, v.streamed = time.Now(), 0
	v.mu.Unlock()
}

// print shows lines, on a terminal cut to its width unless everything was asked for.
func (v *view) print(lines ...timeline.Line) {
	s := v.screen()
	if v.level == verbose {
		s = s.whole()
	}
	v.show(s, v.level.told(lines))
}

// screen is what the view's lines are laid out for now: a window may be made smaller.
func (v *view) screen() screen {
	if !v.live {
		return screen{}
	}
	return screenOf(v.out)
}

// answer shows the lines of an answer. It is what was asked for, and never cut.
func (v *view) answer(lines []timeline.Line) { v.show(v.screen().whole(), lines) }

func (v *view) show(s screen, lines []timeline.Line) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(lines) > 0 {
		v.clear()
	}
	for _, l := range lines {
		fmt.Fprintln(v.out, v.format(s, l))
	}
}

// told gives those of lines that are to be shown.
func (l level) told(lines []timeline.Line) []timeline.Line {
	switch l {
	case quiet:
		return nil
	case verbose:
		return lines
	}
	return slices.DeleteFunc(lines, func(line timeline.Line) bool { return line.Kind == timeline.Routine })
}

// format lays a line out: label, text, and the colour of its kind.
func (v *view) format(s screen, l timeline.Line) string {
	text := s.fit(fmt.Sprintf("%-8s %s", l.Label, l.Text))
	if !v.colour {
		return text
	}
	const dim, yellow, bold, reset = "\x1b[2m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
	switch l.Kind {
	case timeline.Detail, timeline.Routine:
		return dim + text + reset
	case timeline.Notice:
		return yellow + text + reset
	case timeline.End:
		return bold + text + reset
	default:
		return text
	}
}

// tick redraws the waiting line, once a second, from the third on: what is quick needs no clock.
func (v *view) tick() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-v.quit:
			return
		case <-ticker.C:
		}
		v.mu.Lock()
		if waited := time.Since(v.since); !v.since.IsZero() && waited > 2*time.Second {
			text := "waiting " + strconv.Itoa(int(waited.Seconds())) + " s"
			if v.streamed > 0 {
				text += ", " + strconv.Itoa(v.streamed) + " bytes so far"
			}
			v.clear()
			fmt.Fprint(v.out, v.format(v.screen(), timeline.Line{Kind: timeline.Detail, Text: text}))
			v.waiting = true
		}
		v.mu.Unlock()
	}
}

// clear takes the waiting line away. The caller holds mu.
func (v *view) clear() {
	if v.waiting {
		fmt.Fprint(v.out, "\r\x1b[K")
		v.waiting = false
	}
}

// close ends the view.
func (v *view) close() {
	close(v.quit)
	v.done.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}
