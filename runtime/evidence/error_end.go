package evidence

// A lineEnds is what an [errorSearch] remembers of how pages in NDJSON or CSV with items end.
type lineEnds struct {
	Whole     bool `json:"whole,omitempty"`     // whether a page ends with the end of a line
	WholeWide bool `json:"wholeWide,omitempty"` // whether such a page has a character of several bytes
	Open      int  `json:"open,omitempty"`      // a page that ends within a line, until one ends with a whole line
	Unframed  bool `json:"unframed,omitempty"`  // whether only the connection ends the page Open
	Counted   bool `json:"counted,omitempty"`   // whether the page Open has a Content-Length and a character of several bytes
}

// noticeOpenEnd notices a page in NDJSON or CSV that may be cut off: it ends within a line, and only the connection ends it, or
// it has items and another page with items ends with a whole line. Some servers end no last line, or not that of the last
// page, and a header without rows may have no end.
func (s errorSearch) noticeOpenEnd() {
	ends, hasItems := &s.memory.Lines, s.context.Count > 0
	switch page := s.reading.Original; {
	case page.Open:
		counted := page.Wide && s.header.Get("Content-Length") != ""
		if ends.Whole && hasItems || page.Unframed {
			s.reportOpenEnd(s.context.Page, page.Unframed, counted)
		}
		if hasItems && !ends.Whole && (ends.Open == 0 || page.Unframed || counted) {
			ends.Open, ends.Unframed, ends.Counted = s.context.Page, page.Unframed, counted
		}
	case page.Ended && hasItems:
		ends.Whole, ends.WholeWide = true, ends.WholeWide || page.Wide
		if ends.Open > 0 {
			s.reportOpenEnd(ends.Open, ends.Unframed, ends.Counted)
			ends.Open = 0
		}
	}
}

// reportOpenEnd reports that a page ends within a line. It is certain that the page is cut off if another page ends with a
// whole line, and only the connection ends this page, or it alone has characters of several bytes and a Content-Length: then
// the server counts characters, so that the end of the page is missing.
func (s errorSearch) reportOpenEnd(page int, isUnframed, isCounted bool) {
	whole := s.memory.Lines.Whole
	isCounted = isCounted && whole && !s.memory.Lines.WholeWide
	text := "its last line has no end, "
	if isUnframed {
		text += "and only the connection ends the response, "
	}
	text += "so it may be cut off"
	if whole {
		text += "; another page ends with a whole line"
	}
	if isCounted {
		text += " and has no character of several bytes, as if the Content-Length counted characters"
	}
	s.reportErrorOf(page, text, mayBeItemIf(!(isUnframed && whole) && !isCounted))
}
