// Command configgen writes the Go types of a configuration, in a folder, from the tables by
// which a configuration file is read.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	source, err := Source()
	if err == nil {
		err = os.WriteFile(filepath.Join(append(os.Args[1:], "types.go")...), source, 0o644)
	}
	if err != nil {
		log.Fatal(fmt.Errorf("configgen: %w", err))
	}
}
