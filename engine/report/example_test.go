package report_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/stopwhen/stopwhen/engine/report"
)

// twoPages is what `stopwhen run --trace` writes: one line per page.
const twoPages = `{"job":"users","page":1,"request":{"method":"GET","url":"https://api.example.com/users?page=1"},"status":200,"bytes":9,"count":2,"decision":"continue"}
{"job":"users","page":2,"request":{"method":"GET","url":"https://api.example.com/users?page=2"},"status":200,"bytes":2,"count":0,"decision":"stop","stoppedBy":["pagenum.empty"],"outcome":"complete"}
`

func ExampleRead() {
	run, err := report.Read("users.ndjson", strings.NewReader(twoPages))
	if err != nil {
		fmt.Println(err)
		return
	}
	job := run.Jobs[0]
	fmt.Println(job.ID, job.Fetched, job.Items, job.DescribeEnd())
	if err := run.HTML(io.Discard); err != nil {
		fmt.Println(err)
	}
	// Output:
	// users 2 2 stopped on page 2 by pagenum.empty
}
