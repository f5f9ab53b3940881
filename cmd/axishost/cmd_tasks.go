package main

import (
	"github.com/spf13/cobra"
)

func (a *app) tasksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "List tasks, read what they did, cancel, undo and remove them",
		Long: `tasks reads the event log, and ends, undoes or removes what is in it. It works while tasks are being run in other
terminals.` + exitHelp(exitSucceeded, exitUsage, exitStore),
		Example: "  axishost tasks list\n  axishost tasks show last",
		RunE:    group,
	}
	cmd.AddCommand(a.tasksListCommand(), a.tasksShowCommand(), a.tasksEventsCommand(), a.tasksCancelCommand(), a.tasksUndoCommand(), a.tasksRmCommand())
	return cmd
}
