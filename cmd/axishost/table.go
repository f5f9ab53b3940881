package main

import (
	"bufio"
	"cmp"
	"strings"

	"github.com/axishost/axishost/host"
	"github.com/axishost/axishost/host/timeline"
	"github.com/axishost/axishost/plugins"
)

// printTasks prints the table of tasks. There can be very many: it is laid out by hand, and nothing is kept of a
// line.
func (a *app) printTasks(tasks []host.Summary) {
	t := &table{screen: screenOf(a.out), models: map[string]cell{}}
	header := &line{text: [columns]string{"ID", "PHASE", "CREATED (UTC)", "RECIPE", "MODEL", "TASK"}}
	for i, title := range header.text {
		header.width[i] = len(title)
	}
	t.measure(header)
	for i := range tasks {
		t.measure(t.row(&tasks[i]))
	}
	t.choose()
	w := bufio.NewWriterSize(a.out, 64<<10)
	t.write(w, header)
	for i := range tasks {
		t.write(w, t.row(&tasks[i]))
	}
	_ = w.Flush() // a.out remembers what went wrong
}

const columns = 6

// Those that are dropped where a terminal is narrow.
const (
	createdColumn = 2
	recipeColumn  = 3
	modelColumn   = 4
)

// minTaskColumns is what the task itself has to have room for, at the expense of others: by it one knows which is
// which.
const minTaskColumns = 24

// line is one of a table: its cells, and how many columns of a terminal each takes.
type line struct {
	text  [columns]string
	width [columns]int
}

// cell is a text and how many columns it takes.
type cell struct {
	text  string
	width int
}

// table lays lines out.
type table struct {
	screen screen
	widths [columns]int
	hidden [columns]bool
	line   line            // the one that is laid out now
	models map[string]cell // as they are shown: there are few
	day    [32]byte        // room for a time
}

func (t *table) measure(l *line) {
	for i, wide := range l.width {
		t.widths[i] = max(t.widths[i], wide)
	}
}

// choose hides the columns that leave no room for the task, what is needed least first.
func (t *table) choose() {
	room := t.screen.columns
	for _, wide := range t.widths[:columns-1] {
		room -= wide + 2
	}
	for _, i := range []int{modelColumn, recipeColumn, createdColumn} {
		if t.screen.columns == 0 || room >= minTaskColumns {
			return
		}
		t.hidden[i] = true
		room += t.widths[i] + 2
	}
}

func (t *table) write(w *bufio.Writer, l *line) {
	const gap = "                                                                                          "
	if t.screen.terminal {
		t.writeCut(w, l)
	} else {
		for i, cell := range l.text[:columns-1] {
			_, _ = w.WriteString(cell)
			for n := 2 + t.widths[i] - l.width[i]; n > 0; n -= len(gap) {
				_, _ = w.WriteString(gap[:min(n, len(gap))])
			}
		}
		_, _ = w.WriteString(l.text[columns-1])
	}
	_ = w.WriteByte('\n')
}

// writeCut writes a line as far as the terminal has columns. Each cell is fitted by itself, so that text from
// right to left in two of them does not run together.
func (t *table) writeCut(w *bufio.Writer, l *line) {
	room := t.screen
	for i, cell := range l.text {
		if t.hidden[i] {
			continue
		}
		if i < columns-1 {
			wide := t.widths[i] + 2
			cell += strings.Repeat(" ", wide-l.width[i])
			if room.columns > 0 && wide >= room.columns { // no room for another cell
				_, _ = w.WriteString(room.fit(cell + "…"))
				return
			}
			_, _ = w.WriteString(room.whole().fit(cell))
			if room.columns > 0 {
				room.columns -= wide
			}
			continue
		}
		_, _ = w.WriteString(room.fit(cell))
	}
}

// row gives the line of a task. It holds until the next one.
func (t *table) row(task *host.Summary) *line {
	phase, recipe := task.Phase, task.Recipe
	if liveness(task) == phaseStopped {
		phase = phaseStopped
	}
	if recipe == "" {
		recipe = "-"
	}
	model, known := t.models[task.Model]
	if !known {
		model.text = cmp.Or(plugins.Printable(timeline.Model(task.Model), 40), "-")
		model.width = width(model.text)
		t.models[task.Model] = model
	}
	created, _ := task.Created.AppendText(t.day[:0]) // cannot fail
	t.line.text = [columns]string{
		task.ID, phase, string(created[:len("2006-01-02T15:04:05")]), recipe, model.text, plugins.Printable(oneLine(task.Task), 60),
	}
	// Most are ASCII by what they are. The last one is as wide as it likes.
	t.line.width = [columns]int{len(task.ID), len(phase), len("2006-01-02T15:04:05"), len(recipe), model.width}
	return &t.line
}

// oneLine makes all white space of a text single spaces.
func oneLine(text string) string {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || (c == ' ' && i > 0 && text[i-1] == ' ') {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return text // as most are
}
