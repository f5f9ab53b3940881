// Command command is a module for the command line's tests: of the kind that runs once, which is no plugin.
package main

func main() {}
