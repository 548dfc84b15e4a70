package hub_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// accounts starts a hub with the file that the documentation shows.
func accounts(t *testing.T) *hub.Server {
	t.Helper()
	for _, name := range []string{"SALES_SUBMIT", "SALES_WORKER", "SALES_READER", "SALES_ORDERS", "SUPPORT"} {
		t.Setenv(name, "password-of-"+name)
	}
	return start(t, hub.Options{ConfigFile: "testdata/accounts.conf", Dir: t.TempDir(), Listen: anyPort})
}

// A role is a user of the file, with the store as that user sees it.
type role struct {
	*store.Store
	refused chan error // what the server does not permit
}

// as returns the store as a user sees it.
func as(t *testing.T, s *hub.Server, user, secret string) role {
	t.Helper()
	r := role{refused: make(chan error, 100)}
	js, err := jetstream.New(connect(t, s.URL(), nats.UserInfo(user, "password-of-"+secret),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { r.refused <- err })))
	require.NoError(t, err)
	r.Store, err = store.Open(t.Context(), js, store.Options{})
	require.NoError(t, err)
	require.Empty(t, r.refused)
	return r
}

// requireRefused requires that the server refuses a call: that it says so before the call
// succeeds.
func (r role) requireRefused(t *testing.T, c call) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.do(ctx, r.Store) }()
	select {
	case err := <-r.refused:
		require.ErrorIs(t, err, nats.ErrPermissionViolation)
	case err := <-ended:
		require.ErrorIs(t, err, failure.ErrConfig)
	}
}

// A call is something that a role does.
type call struct {
	name string
	do   func(context.Context, *store.Store) error
}

const origin, run = "api_example_com-12345678", "orders"

var queue = store.Queue{Origin: origin, Run: run, Slots: 2}

var task = store.Key{Run: run, Submission: "s", Job: "orders", Task: "0"}

// page appends the first page of a task.
func page(ctx context.Context, s *store.Store, key store.Key) error {
	items := document.NewItems([]byte("{\"id\":1}\n"), 1, nil)
	_, err := s.Append(ctx, key, store.Tail{}, store.Head{State: store.Done, Attempt: "1", Page: 1, Totals: store.Totals{Pages: 1, Items: 1}},
		[]byte("{}"), items)
	return err
}

var submits = []call{
	{"stores a configuration", func(ctx context.Context, s *store.Store) error { return s.PutConfig(ctx, "s", []byte("{}")) }},
	{"creates a run", func(ctx context.Context, s *store.Store) error {
		return s.CreateRun(ctx, run, "s", 0)
	}},
	{"changes the limits of a run", func(ctx context.Context, s *store.Store) error {
		return s.CreateRun(ctx, run, "s", 1<<30)
	}},
	{"stores the record of a run", func(ctx context.Context, s *store.Store) error {
		revision, err := s.PutRun(ctx, run, []byte("{}"))
		if err == nil {
			_, err = s.UpdateRun(ctx, run, []byte(`{"cancelled": true}`), revision)
		}
		return err
	}},
	{"prepares a queue", func(ctx context.Context, s *store.Store) error {
		return errors.Join(s.SetQueue(ctx, queue), s.SetSlots(ctx, queue))
	}},
	{"queues tasks", func(ctx context.Context, s *store.Store) error {
		var items []store.Item
		for _, name := range []string{"0", "0", "1"} {
			items = append(items, store.Item{Key: store.Key{Run: run, Submission: "s", Task: name}, Origin: origin})
		}
		return s.Enqueue(ctx, items...)
	}},
}

var works = []call{
	{"reads a configuration", func(ctx context.Context, s *store.Store) error {
		_, err := s.Config(ctx, "s")
		return err
	}},
	{"follows the runs", func(ctx context.Context, s *store.Store) error {
		seen := errors.New("seen")
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if err := s.WatchRuns(ctx, func(store.Record) { cancel(seen) }); context.Cause(ctx) != seen { //nolint:errorlint // its own error
			return err
		}
		return nil
	}},
	{"prepares another queue", func(ctx context.Context, s *store.Store) error {
		other := store.Queue{Origin: origin + "9", Run: run, Slots: 2}
		return errors.Join(s.SetQueue(ctx, other), s.SetSlots(ctx, other))
	}},
	{"runs a task", func(ctx context.Context, s *store.Store) error {
		first, err := fetched(ctx, s)
		if err != nil {
			return err
		}
		second, err := fetched(ctx, s)
		if err != nil {
			return err
		}
		if _, err := s.Last(ctx, task); err != nil {
			return err
		}
		if err := errors.Join(first.Progress(), page(ctx, s, task), first.Done(ctx, task, store.Tail{}), second.HandBack(ctx, store.Trouble{})); err != nil {
			return err
		}
		_, err = s.Next(ctx, task, 0)
		return err
	}},
	{"stores a page in parts", func(ctx context.Context, s *store.Store) error {
		block := make([]byte, 20<<20)
		for i := range block {
			block[i] = '\n'
		}
		_, err := s.Append(ctx, store.Key{Run: run, Submission: "s", Job: "orders", Task: "1"}, store.Tail{},
			store.Head{State: store.Done, Attempt: "1", Page: 1}, []byte("{}"), document.NewItems(block, len(block), nil))
		return err
	}},
	{"queues a child", func(ctx context.Context, s *store.Store) error {
		return s.Enqueue(ctx, store.Item{Key: store.Key{Run: run, Submission: "s", Task: "0-p1i1"}, Origin: origin})
	}},
	{"shares the pace", func(ctx context.Context, s *store.Store) error {
		const key = "hold." + origin
		return s.Pace().Try(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
			revision, err := kv.Create(ctx, key, []byte("1"))
			if err != nil {
				return err
			}
			if _, err := kv.Update(ctx, key, []byte("2"), revision); err != nil {
				return err
			}
			if _, err = kv.Get(ctx, key); err != nil {
				return err
			}
			watch, err := kv.Watch(ctx, "hold.>")
			if err != nil {
				return err
			}
			<-watch.Updates()
			return watch.Stop()
		})
	}},
	{"looks for other workers", func(ctx context.Context, s *store.Store) error { _, err := s.Workers(ctx); return err }},
	{"says that it is there", func(ctx context.Context, s *store.Store) error {
		return errors.Join(s.PutWorker(ctx, "w", []byte("{}")), s.DeleteWorker(ctx, "w"))
	}},
}

// fetched returns the next task. One call of Fetch may return before the server has answered.
func fetched(ctx context.Context, s *store.Store) (*store.Work, error) {
	for {
		w, err := s.Fetch(ctx, queue)
		if w != nil || err != nil {
			return w, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var reads = []call{
	{"lists the runs", func(ctx context.Context, s *store.Store) error { _, err := s.Runs(ctx); return err }},
	{"reads the record of a run", func(ctx context.Context, s *store.Store) error { _, err := s.Run(ctx, run); return err }},
	{"asks how large a run is", func(ctx context.Context, s *store.Store) error { _, err := s.Info(ctx, run); return err }},
	{"reads what became of tasks", func(ctx context.Context, s *store.Store) error {
		return errors.Join(s.Heads(ctx, run, nil, func(store.StoredHead) error { return nil }),
			s.HeadsFrom(ctx, run, 1, nil, func(store.StoredHead) error { return nil }))
	}},
	{"reads the pages", func(ctx context.Context, s *store.Store) error {
		enough := errors.New("enough")
		if err := s.Read(ctx, run, 0, store.Mark{}, func(*store.Entry) error { return enough }); !errors.Is(err, enough) {
			return err
		}
		return nil
	}},
	{"reads a task", func(ctx context.Context, s *store.Store) error { _, err := s.Next(ctx, task, 0); return err }},
	{"lists the workers", func(ctx context.Context, s *store.Store) error { _, err := s.Workers(ctx); return err }},
	{"asks how much is queued", func(ctx context.Context, s *store.Store) error { _, err := s.Queued(ctx, queue); return err }},
}

// changes are those of submits that change what is there already.
var changes = []call{
	submits[0], submits[3],
	{"changes the limits of a run", func(ctx context.Context, s *store.Store) error {
		return s.CreateRun(ctx, run, "s", 2<<30)
	}},
	{"creates another run", func(ctx context.Context, s *store.Store) error {
		return s.CreateRun(ctx, "other", "s", 0)
	}},
}

// queues changes what is queued.
var queues = []call{
	submits[5],
	{"changes the slots of an origin", func(ctx context.Context, s *store.Store) error {
		return s.SetSlots(ctx, store.Queue{Origin: origin, Run: run, Slots: 7})
	}},
}

var deletes = []call{
	{"deletes a run", func(ctx context.Context, s *store.Store) error { return s.DeleteRun(ctx, run, "s", 0) }},
}

// stores is what only a worker may do: others could add items.
var stores = []call{
	{"stores a page", func(ctx context.Context, s *store.Store) error {
		return page(ctx, s, store.Key{Run: run, Submission: "s", Job: "orders", Task: "2"})
	}},
}

var fetches = []call{
	{"fetches a task", func(ctx context.Context, s *store.Store) error { _, err := s.Fetch(ctx, queue); return err }},
}

// TestRolesMayDoTheirWorkAndNothingElse runs what the commands ask of the server, as each
// of the users of the documented file, in the order in which a run goes through it.
func TestRolesMayDoTheirWorkAndNothingElse(t *testing.T) {
	s := accounts(t)
	submitter := as(t, s, "sales-submit", "SALES_SUBMIT")
	worker := as(t, s, "sales-worker", "SALES_WORKER")
	reader := as(t, s, "sales-reader", "SALES_READER")
	for _, step := range []struct {
		name   string
		role   role
		may    []call
		mayNot []call
	}{
		{"submitter", submitter, submits, slices.Concat(stores, fetches)},
		{"worker", worker, works, slices.Concat(changes, deletes)},
		{"reader", reader, reads, slices.Concat(changes, queues, stores, fetches, deletes)},
		{"submitter", submitter, slices.Concat(reads, deletes), nil},
	} {
		for _, c := range step.may {
			require.True(t, t.Run(step.name+" "+c.name, func(t *testing.T) {
				require.NoError(t, c.do(t.Context(), step.role.Store))
				require.Empty(t, step.role.refused)
			}), "the next steps need this one")
		}
		for _, c := range step.mayNot {
			t.Run(step.name+" never "+c.name, func(t *testing.T) { step.role.requireRefused(t, c) })
		}
	}
}

func TestAnAccountSeesNothingOfAnother(t *testing.T) {
	s := accounts(t)
	sales := as(t, s, "sales-submit", "SALES_SUBMIT")
	support := as(t, s, "support", "SUPPORT")
	require.NoError(t, sales.CreateRun(t.Context(), run, "s", 0))
	_, err := sales.PutRun(t.Context(), run, []byte("{}"))
	require.NoError(t, err)
	runs, err := support.Runs(t.Context())
	require.NoError(t, err)
	require.Empty(t, runs)
	_, err = support.Info(t.Context(), run)
	require.ErrorIs(t, err, store.ErrDeleted)
	require.NoError(t, support.CreateRun(t.Context(), run, "s", 0)) // the same name, but another run
}

func TestASubscriberReceivesThePagesOfItsRunOnly(t *testing.T) {
	s := accounts(t)
	submitter := as(t, s, "sales-submit", "SALES_SUBMIT")
	worker := as(t, s, "sales-worker", "SALES_WORKER")
	refused := make(chan error, 10)
	c := connect(t, s.URL(), nats.UserInfo("sales-orders", "password-of-SALES_ORDERS"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	own, err := c.SubscribeSync("stopwhen.page.orders.>")
	require.NoError(t, err)
	for _, subject := range []string{"stopwhen.page.>", "stopwhen.page.other.>", "stopwhen.work.>", "$KV.>", "_INBOX.>", "$JS.>"} {
		_, err := c.SubscribeSync(subject)
		require.NoError(t, err)
		require.NoError(t, c.Flush())
		require.ErrorIs(t, <-refused, nats.ErrPermissionViolation, subject)
	}
	require.NoError(t, c.Publish("stopwhen.page.orders.s.orders.0", []byte("{}\n")))
	require.NoError(t, c.Flush())
	require.ErrorIs(t, <-refused, nats.ErrPermissionViolation)

	for _, name := range []string{run, "other"} {
		require.NoError(t, submitter.CreateRun(t.Context(), name, "s", 0))
		require.NoError(t, page(t.Context(), worker.Store, store.Key{Run: name, Submission: "s", Job: "orders", Task: "0"}))
	}
	m, err := own.NextMsg(10 * time.Second)
	require.NoError(t, err)
	require.Equal(t, "stopwhen.page.orders.s.orders.0", m.Subject)
	require.Contains(t, string(m.Data), `{"id":1}`)
	require.NoError(t, c.Flush())
	pending, _, err := own.Pending()
	require.NoError(t, err)
	require.Zero(t, pending)
}
