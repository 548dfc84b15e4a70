package ahead

// A Policy says which pages are requested ahead of their turn. The zero Policy requests none.
type Policy struct {
	// Window is the number of pages in flight, with the one that the loop waits for, for
	// jobs whose requests read no response; below 2: one.
	Window int
	Grows  bool // the window doubles when the loop waits for a page, up to maxWindow

	// Large is the size in bytes of a page during whose work the next page is requested;
	// 0: there is none.
	Large int
}

const (
	// Auto is the number of pages with which [Pages] lets a run choose its window.
	Auto = -1

	// LargePage is the size in bytes from which it is worth it to work on two pages at the same
	// time: the work on a smaller one takes hardly longer than the other goroutine.
	LargePage = 64 << 10

	maxWindow = 16 // of a window that grows; more is for users who know their API
)

// Pages returns the policy for a number of pages in flight. With 1, the next page is requested
// only during the work on a large one; with 0, pages are requested in their turn.
func Pages(n int) Policy {
	switch {
	case n == 0:
		return Policy{}
	case n < 0:
		return Policy{Window: 2, Grows: true, Large: LargePage}
	}
	return Policy{Window: n, Large: LargePage}
}
