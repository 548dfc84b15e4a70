package runtime

import (
	"fmt"
	"testing"

	"github.com/stopwhen/stopwhen/runtime/trace"
)

// BenchmarkJudge measures the verdicts of a job's rules on a page.
func BenchmarkJudge(b *testing.B) {
	for _, items := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			r := judged(b, items)
			b.ReportAllocs()
			for b.Loop() {
				page := Page{Record: trace.Record{Decision: trace.Continue}}
				if err := r.judge(&page); err != nil || page.Decision != trace.Continue {
					b.Fatal(err, page.StoppedBy)
				}
			}
		})
	}
}
