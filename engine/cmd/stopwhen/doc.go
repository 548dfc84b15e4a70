// Command stopwhen extracts lists from paged HTTP APIs that a configuration
// describes, and reports why paging continued or stopped after every page.
//
// A command is a struct, such as runCommand in run.go. It embeds the flags that it shares with
// others, and has a function newRun, which adds its flags, and a method Run. The list of
// commands is in app_help.go, and each has a file of its own. The other files are in groups:
//
//   - app_*.go: an invocation of the command, with its flags, log, threads, signals and exit status
//   - config_*.go: reads a configuration and its inputs, for most commands
//   - extract.go, extract_*.go: runs jobs and writes their pages, for run, record, demo and collect
//   - cluster.go, cluster_*.go: connects to NATS, and the commands for runs on many machines
//
// # Decisions
//
// A run that reads one small page after another uses one thread: with two, Go
// wakes the second one in vain whenever net/http hands a request from one goroutine to the
// next. The library leaves the number of threads to the program that embeds it.
package main
