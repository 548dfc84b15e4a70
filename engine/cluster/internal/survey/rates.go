package survey

import (
	"context"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// How the rate of the last time is measured.
const (
	recentTime  = time.Minute
	recentPages = 5000 // with more in that time, the time is shorter
	enoughEnds  = 10   // partitions that tell when the others will have ended
)

// addRates adds what is stored per second, and how long the rest will take.
func (s *survey) addRates(ctx context.Context, out *status.Run, info store.Info) error {
	over := out.Phase == status.Complete || out.Phase == status.Failed
	end := info.Now
	if over {
		end = info.Last
	}
	out.Rates.Overall = rateOf(end.Sub(s.run.Started), out.Total.Pages, out.Total.Items, out.Total.Done+out.Total.Failed)
	if over || out.Phase == status.Cancelled {
		return nil
	}
	recent, ended, err := s.recent(ctx, info)
	out.Rates.Recent = recent
	if recent != nil && ended >= enoughEnds && !out.Growing && s.splits == 0 {
		left := float64(out.Total.Open()) / recent.Partitions
		out.Rates.SecondsLeft = &left
	}
	return err
}

// recent returns what was stored in the last time, and how many partitions have ended in it.
func (s *survey) recent(ctx context.Context, info store.Info) (rate *status.Rate, ended int, err error) {
	var since time.Time
	from, pages, items := uint64(1), 0, 0
	if info.Sequence > recentPages {
		from = info.Sequence - recentPages
	}
	first := true
	again := func() {
		since, first, pages, items, ended = info.Now.Add(-recentTime), true, 0, 0, 0
		if info.First.After(since) {
			since = info.First
		}
	}
	err = s.store.HeadsFrom(ctx, s.run.Run, from, again, func(h store.Heading) error {
		if first && from > 1 && h.Time.After(since) { // what came before it is not read
			since = h.Time
		}
		first = false
		if h.Time.Before(since) {
			return nil
		}
		listed := h.Kind == store.Lists || h.Kind == store.ListsAll
		if listed && h.State != store.Failed && h.Outcome != store.Skipped && h.Trials == 0 {
			pages++
		}
		items += h.Count
		if h.Ends() && h.Kind == store.Lists {
			ended++
		}
		return nil
	})
	return rateOf(max(info.Now.Sub(since), time.Second), pages, items, ended), ended, err
}

// rateOf returns a rate, or nil for no time.
func rateOf(span time.Duration, pages, items, partitions int) *status.Rate {
	seconds := span.Seconds()
	if seconds <= 0 {
		return nil
	}
	per := func(n int) float64 { return float64(n) / seconds }
	return &status.Rate{Seconds: seconds, Pages: per(pages), Items: per(items), Partitions: per(partitions)}
}
