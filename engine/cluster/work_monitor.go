package cluster

import "sync/atomic"

// A Monitor returns the state of a worker: see [Worker.Monitor]. Any goroutine may read it at any time,
// also before the worker begins and after it has ended. The zero value is ready to use, for one call of
// [Cluster.Work].
type Monitor struct {
	worker atomic.Pointer[workerRun]
}

// A WorkerState is the state that a [Monitor] returns. The counts begin at 0 when the worker begins.
type WorkerState struct {
	Working bool // the worker has begun, and has not ended
	Slots   int  // number of tasks that can run at the same time
	Running int  // number of tasks that run

	Done     int // number of tasks whose end was stored here, other than failures
	Failed   int // number of tasks whose failure was stored here
	PutBack  int // number of tasks that failed, and were put back to be tried again
	Returned int // number of tasks handed back because the worker ends

	Renewals       int // number of times that the lease of a task was renewed
	FailedRenewals int // number of times that it could not be renewed

	// Problem is why the worker obtains nothing: the latest reason of the last minutes. It is empty if no
	// reason is known, or if the worker has received a page in the last minute.
	Problem string
}

// State returns what the worker does now.
func (m *Monitor) State() WorkerState {
	w := m.worker.Load()
	if w == nil {
		return WorkerState{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	state := WorkerState{
		Working: !w.ended, Slots: w.Slots, Running: len(w.running), Done: w.ends.done - w.ends.failed, Failed: w.ends.failed,
		PutBack: w.ends.putBack, Returned: int(w.returned.Load()),
		Renewals: int(w.leases.renewed.Load()), FailedRenewals: int(w.leases.failed.Load()),
	}
	if len(w.servedOriginsLocked()) == 0 {
		state.Problem = latestProblem(&w.problems, &w.cluster.full)
	}
	return state
}
