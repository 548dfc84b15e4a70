package transport

import (
	"io"
	"log"
)

// quiet drops what a test server has to say of clients that leave.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
