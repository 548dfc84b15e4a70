// Command stopwhen pages through HTTP APIs that a configuration describes, and
// says of every page why it went on or stopped.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
