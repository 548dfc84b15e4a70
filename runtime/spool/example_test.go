package spool_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A body is read piece by piece, so that the caller can limit its size.
func ExampleBuffer() {
	var buffer spool.Buffer
	defer buffer.Release()
	response := strings.NewReader(`{"data": []}`)
	buffer.Reset(int64(response.Len()))
	for {
		if _, err := buffer.ReadPiece(response); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			fmt.Println(err)
			return
		}
	}
	body, mapping, err := buffer.Body()
	fmt.Println(string(body), mapping == nil, err)
	// Output: {"data": []} true <nil>
}
