package engine_test
import ("context";"os";"testing";"github.com/stopwhen/stopwhen/engine")
func BenchmarkZZ(b *testing.B) {
	e, err := engine.Load("bench.json", []byte(`{"api": {"baseUrl": "`+os.Getenv("BENCH_API")+`", "pagination": {"method": "offset", "limit": 1000,
		"nextPageFlag": {"field": "isLast", "stopOn": true, "ifNotSet": false}, "forceStop": {"pages": 1000, "time": 3600, "volume": 100000000000}}},
		"config": {"jobs": [{"endpoint": "items", "dataField": "data"}]}}`))
	if err != nil { b.Fatal(err) }
	f, _ := os.Create("/tmp/zz.out")
	for b.Loop() {
		f.Seek(0,0)
		_, err := e.Run(context.Background(), func(_ context.Context, p *engine.Page) error { _, err := p.Items.WriteTo(f); return err })
		if err != nil { b.Fatal(err) }
	}
}
