package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
)

func TestJobsThatReadTheSameUseTheSameReader(t *testing.T) {
	all := compiletest.Jobs(t, `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [
		{"id": "a", "endpoint": "a", "dataField": "data"},
		{"id": "b", "endpoint": "b", "dataField": "data"},
		{"id": "c", "endpoint": "c", "dataField": "rows"}]}}`)
	a, b, c := all[0], all[1], all[2]
	loop, pool := Loop{}.WithDefaults(), &Pool{}
	of := pool.get(&loop, a)
	pool.put(of)
	other := pool.get(&loop, c)
	require.NotSame(t, of, other, "its items are somewhere else")
	pool.put(other)
	require.Same(t, of, pool.get(&loop, b))
	require.Same(t, b, of.workspace.job)
	require.NotSame(t, of, pool.get(&loop, a), "job b uses them")
	pool.put(of)
	loop.MaxItems = 10
	require.NotSame(t, of, pool.get(&loop, b), "the limits have changed")
}

func TestAPoolHoldsALimitedNumberOfReaders(t *testing.T) {
	job := compiletest.Jobs(t, `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{"endpoint": "a"}]}}`)[0]
	loop, pool := Loop{}.WithDefaults(), &Pool{}
	var used []*listRun
	for range 2 * maxPooled {
		used = append(used, pool.get(&loop, job))
	}
	for _, one := range used {
		pool.put(one)
	}
	require.Len(t, pool.free, maxPooled)
	require.Same(t, used[len(used)-1], pool.get(&loop, job), "those that were used last are kept")
}
