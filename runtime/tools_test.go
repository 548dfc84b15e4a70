package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJobsThatReadTheSameUseTheSameTools(t *testing.T) {
	all := compiled(t, `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [
		{"id": "a", "endpoint": "a", "dataField": "data"},
		{"id": "b", "endpoint": "b", "dataField": "data"},
		{"id": "c", "endpoint": "c", "dataField": "rows"}]}}`)
	a, b, c := all[0], all[1], all[2]
	loop, box := Loop{}.WithDefaults(), &Toolbox{}
	of := box.get(&loop, a)
	box.put(of)
	other := box.get(&loop, c)
	require.NotSame(t, of, other, "its items are somewhere else")
	box.put(other)
	require.Same(t, of, box.get(&loop, b))
	require.Same(t, b, of.tools.job)
	require.NotSame(t, of, box.get(&loop, a), "job b uses them")
	box.put(of)
	loop.MaxItems = 10
	require.NotSame(t, of, box.get(&loop, b), "the limits have changed")
}

func TestAToolboxHoldsABoundedNumberOfTools(t *testing.T) {
	job := compiled(t, `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{"endpoint": "a"}]}}`)[0]
	loop, box := Loop{}.WithDefaults(), &Toolbox{}
	var used []*listRun
	for range 2 * keptRuns {
		used = append(used, box.get(&loop, job))
	}
	for _, one := range used {
		box.put(one)
	}
	require.Len(t, box.free, keptRuns)
	require.Same(t, used[len(used)-1], box.get(&loop, job), "those that were used last are kept")
}
