package evidence

// The methods of this file record facts that only the loop knows.

// NoticeOverridden records a remark that a parameter of the job overrides one of the link to the next page.
func (w *Watcher) NoticeOverridden(remark string) { w.list.facts.Overridden = remark }

// NoticeRewritten records the number of items that were written before a restart, which writes them again.
func (w *Watcher) NoticeRewritten(items int) { w.list.facts.Rewritten = items }

// NoticeUnsplit records the window that a rule asks to split and that cannot be split.
func (w *Watcher) NoticeUnsplit(window string) {
	w.list.facts.FullWindow, w.list.facts.WindowKept = window, w.tooLate
}

// NoticeEndStatus records the status of the error response with which a rule ended the list.
func (w *Watcher) NoticeEndStatus(status int) { w.list.facts.EndStatus = status }
