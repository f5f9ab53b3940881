package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/axishost/axishost/host/stats"
	"github.com/axishost/axishost/plugins"
)

// figureColumns is what figures are laid out for where the terminal is not narrower: they are read, and pasted.
const figureColumns = 80

// labelColumns is the width of what stands before a line of figures.
const labelColumns = 14

// printStats writes a report for people. What did not occur takes no line.
func (a *app) printStats(r *stats.Report) {
	columns := figureColumns
	if s := screenOf(a.out); s.columns > 0 {
		columns = min(columns, max(s.columns, 2*labelColumns))
	}
	var b strings.Builder
	for _, part := range []string{
		tasksFigures(r), spreadFigures(r), modelFigures(r), callFigures(r), effectFigures(r), toolFigures(r, columns),
	} {
		if b.Len() > 0 && part != "" {
			b.WriteByte('\n')
		}
		for line := range strings.Lines(part) {
			b.WriteString(wrapFigures(line, columns))
		}
	}
	fmt.Fprint(a.out, b.String())
}

// figure gives a line, where there is anything to tell: n is not zero.
func figure(label string, n int64, text string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%-*s%d%s\n", labelColumns, label, n, text)
}

// share gives a rate as an addition to a number.
func share(rate *float64) string {
	if rate == nil {
		return ""
	}
	return fmt.Sprintf(" (%.1f %%)", *rate*100)
}

// each gives numbers by name as an addition to their sum, the highest first.
func each(c stats.Counts) string {
	if len(c) == 0 {
		return ""
	}
	order := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b))
	})
	for i, name := range order {
		order[i] = fmt.Sprintf("%s %d", cmp.Or(plugins.Printable(oneLine(name), 60), "-"), c[name])
	}
	return ": " + strings.Join(order, ", ")
}

// fact is a number with what it is of.
type fact struct {
	what string
	n    int64
}

// facts gives numbers as an addition to another, without those that are zero.
func facts(all ...fact) string {
	var told []string
	for _, f := range all {
		if f.n != 0 {
			told = append(told, fmt.Sprintf("%s %d", f.what, f.n))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return ": " + strings.Join(told, ", ")
}

func tasksFigures(r *stats.Report) string {
	t := &r.Tasks
	return figure("tasks", t.All, facts(fact{"ended", t.Ended()}, fact{"waiting for a person", t.Waiting}, fact{"stopped", t.Stopped}, fact{"running", t.Running})) +
		figure("succeeded", t.Succeeded, share(t.SuccessRate)) +
		figure("  verified", t.Verified, share(t.VerifiedRate)+each(t.ProvedBy)) +
		figure("  unverified", t.NotVerified, "") +
		figure("partial", t.Partial, each(t.PartialBy)) +
		figure("failed", t.Failed, "") +
		figure("cancelled", t.Cancelled, "") +
		figure("taken over", r.Recovery.Lost, facts(fact{"recovered", r.Recovery.Recovered})+share(r.Recovery.Rate)) +
		figure("refused", r.RejectedPlugins.Sum(), " plugins"+each(r.RejectedPlugins))
}

func modelFigures(r *stats.Report) string {
	m, t := &r.Model, &r.Turns
	return figure("model calls", m.Calls, facts(fact{"answered", m.Replies}, fact{"retries", m.Retries})) +
		figure("  failed", m.Failed.Sum(), each(m.Failed)) +
		figure("tokens", m.PromptTokens+m.CompletionTokens, facts(fact{"prompt", m.PromptTokens}, fact{"completion", m.CompletionTokens})) +
		figure("  unreported", m.Unreported, " replies") +
		figure("rollbacks", t.Rollbacks.Sum(), each(t.Rollbacks)) +
		figure("reprompts", t.Reprompts, "") +
		figure("rejections", t.Rejections, "") +
		figure("replans", t.Replans.Sum(), each(t.Replans)) +
		figure("compactions", t.Compactions, "") +
		figure("forced ends", t.Forced.Sum(), each(t.Forced))
}

func callFigures(r *stats.Report) string {
	c := &r.Calls
	return figure("tool calls", c.All, facts(fact{"attempts", c.Attempts}, fact{"retries", c.Retries}, fact{"repaired", c.Repaired})) +
		figure("  denied", c.Denied.Sum(), each(c.Denied))
}

func effectFigures(r *stats.Report) string {
	e, u := &r.Effects, &r.Undone
	return figure("writes", e.Writes, facts(fact{"attempts", e.Attempts})) +
		figure("  unknown", e.Unknown, share(e.UnknownRate)+
			facts(fact{"found", e.Found}, fact{"absent", e.Absent}, fact{"open", e.Open}, fact{"by a person", e.ByPerson})) +
		figure("denied", e.Denied, " operations") +
		figure("undoing", u.Operations, facts(fact{"undone", u.Succeeded}, fact{"not undone", u.Failed}, fact{"unknown", u.Unknown}, fact{"attempts", u.Attempts}))
}

// spreadFigures is the table of what is spread.
func spreadFigures(r *stats.Report) string {
	l := &r.Latency
	rows := [][]string{{"", "P50", "P95", "OF"}}
	for _, s := range []struct {
		label string
		stats.Spread
		show func(int64) string
	}{
		{"steps", r.PerTask.Steps, plain}, {"turns", r.PerTask.Turns, plain}, {"task", l.Task, took},
		{"model", l.Model, took}, {"verification", l.Verification, took}, {"queue", l.Queue, took}, {"tool", l.Tool, took},
		{"reconcile", l.Reconcile, took},
	} {
		if s.N > 0 {
			rows = append(rows, []string{s.label, s.show(s.P50), s.show(s.P95), plain(s.N)})
		}
	}
	return aligned(rows, labelColumns)
}

// toolFigures is the table of tools, each with a line of its failures where it has any.
func toolFigures(r *stats.Report, columns int) string {
	rows := [][]string{{"TOOL", "CALLS", "ATTEMPTS", "FAILED", "UNKNOWN", "DENIED", "P50", "P95"}}
	for i := range r.Tools {
		t := &r.Tools[i]
		p50, p95 := "-", "-"
		if t.Latency.N > 0 {
			p50, p95 = took(t.Latency.P50), took(t.Latency.P95)
		}
		rows = append(rows, []string{
			cut(plugins.Printable(oneLine(t.Name), 60), columns/4), plain(t.Calls), plain(t.Attempts), plain(t.Failed.Sum()),
			plain(t.Unknown), plain(t.Denied.Sum()), p50, p95,
		})
	}
	lines := strings.SplitAfter(aligned(rows, 0), "\n")
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		if i == 0 || i > len(r.Tools) {
			continue
		}
		b.WriteString(figure("  failed", r.Tools[i-1].Failed.Sum(), each(r.Tools[i-1].Failed)))
		b.WriteString(figure("  denied", r.Tools[i-1].Denied.Sum(), each(r.Tools[i-1].Denied)))
	}
	return b.String()
}

// aligned lays rows out, the first column to the left and at least so wide, the others to the right. A header alone
// is nothing.
func aligned(rows [][]string, first int) string {
	if len(rows) < 2 {
		return ""
	}
	widths := make([]int, len(rows[0]))
	widths[0] = first
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(row[0] + strings.Repeat(" ", widths[0]-width(row[0])))
		for i, cell := range row[1:] {
			b.WriteString(strings.Repeat(" ", 2+widths[i+1]-width(cell)) + cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wrapFigures breaks a line after a comma where it is too long, and indents what follows.
func wrapFigures(line string, columns int) string {
	line = strings.TrimSuffix(line, "\n")
	var b strings.Builder
	used := 0
	for i, part := range strings.SplitAfter(line, ", ") {
		if wide := width(strings.TrimSuffix(part, " ")); i > 0 && used+wide > columns {
			b.WriteString("\n" + strings.Repeat(" ", labelColumns))
			used = labelColumns
		}
		b.WriteString(part)
		used += width(part)
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func plain(n int64) string { return fmt.Sprint(n) }

// took writes microseconds as people read them.
func took(micros int64) string {
	switch d := time.Duration(micros) * time.Microsecond; {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
