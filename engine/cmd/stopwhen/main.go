// Command stopwhen extracts lists from paged HTTP APIs that a configuration
// describes, and reports why paging continued or stopped after every page.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
