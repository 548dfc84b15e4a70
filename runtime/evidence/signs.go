package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A signSearch finds the values of the last response that APIs commonly use to describe a list, and compares
// them with those of page 1.
type signSearch struct {
	*listView
	memory *totalMemory
	state  *signState
}

// A totalMemory is what a [signSearch] remembers of earlier pages.
type totalMemory struct {
	FirstTotal *firstTotal `json:"firstTotal,omitempty"` // total on the first page, if it has one
	FirstPages int         `json:"firstPages,omitempty"` // the number of pages that page 1 states
	PagesAt    string      `json:"pagesAt,omitempty"`    // where page 1 states it
	FirstMore  string      `json:"firstMore,omitempty"`  // where page 1 says that there is more
	FirstNext  bool        `json:"firstNext,omitempty"`  // whether page 1 points to another page
	Counts     []int       `json:"counts,omitempty"`     // for each of several lists, the number of its items
}

// A firstTotal is the total of items in the first response.
type firstTotal struct {
	Total int    `json:"total"`
	Count int    `json:"count"` // number of items on the page
	At    string `json:"at"`
	Read  bool   `json:"read,omitempty"`  // whether a rule that decides reads it
	Rough bool   `json:"rough,omitempty"` // whether it may be an estimate
	Least bool   `json:"least,omitempty"` // whether the response says that there may be more
}

// A signState has the signs of the last page.
type signState struct {
	resumed *rules.Signs // signs of the last page before a resume; nil once a page was read
	found   []foundSign  // the signs that the last page has; nil until they are needed
	signs   rules.Signs  // the same, as the audit rules read them
	counted bool         // whether the total includes the number of items of a list without a total
}

// Signs returns the values of the last response that APIs commonly use to describe a list. A token
// read by a rule that ended the job is not a sign, because the configuration knows its meaning. The
// result is valid until the next call.
func (w *Watcher) Signs() *rules.Signs { return w.listSigns().read() }

// read returns the signs of the last response, or of the page before the resume if no page was read since.
func (s signSearch) read() *rules.Signs {
	state := s.state
	if !s.reading.HasContent() && state.resumed != nil { // the last page came before the resume
		state.signs = *state.resumed
		state.signs.LargestPage = *s.largest
		return &state.signs
	}
	if state.found == nil {
		state.found = s.signsOf()
	}
	lists := make([]rules.Signs, max(1, len(s.subject.lists)))
	isRough, hasTotal := false, false
	for _, sign := range state.found {
		isRough = isRough || sign.kind == apinames.SignRough && sign.value == true || sign.kind == apinames.SignExact && sign.value == false
		if sign.kind != apinames.SignNext || sign.by == nil || !s.endedBy(sign.by) {
			for i := range lists {
				if len(sign.lists) == 0 || slices.Contains(sign.lists, i) {
					s.note(&lists[i], sign)
				}
			}
			hasTotal = hasTotal || sign.kind == apinames.SignTotal && sign.inBody && !value.Empty(sign.value)
		}
	}
	state.signs = slices.MaxFunc(lists, func(a, b rules.Signs) int { return s.saysMore(a) - s.saysMore(b) })
	signs := &state.signs
	signs.LargestPage = *s.largest
	s.sumTotals(signs, lists)
	signs.TotalIsRough, signs.TotalIsLeast = signs.TotalIsRough || isRough, signs.TotalIsLeast || isRough
	s.compareTotals(signs, s.context, hasTotal)
	return signs
}

// saysMore returns how clearly the signs at one of several lists say that it has more: 2 if no rule reads the
// sign, and its name has no other meaning; 1 for any other sign; 0 without a sign.
func (s signSearch) saysMore(h rules.Signs) int {
	leads := h.Next != nil && h.More != false
	pages, _ := h.Pages.(int)
	switch {
	case h.More == true && !h.MoreRead && !h.MoreIsRough, leads && !h.NextRead && !h.NextIsRough:
		return 2
	case h.More == true, leads, h.More != false && pages > s.context.Total.Pages:
		return 1
	}
	return 0
}

// sumTotals sets the total to the sum of the totals of all lists, each value of the response once. A list without
// a total adds the number of its items, but only if a total is greater than that of the items of its list: otherwise
// there is no sum.
func (s signSearch) sumTotals(sum *rules.Signs, lists []rules.Signs) {
	sum.Total = nil
	sum.TotalAt = ""
	sum.TotalRead = false
	sum.TotalIsLeast = false
	sum.TotalIsRough = false
	s.state.counted = false
	without := 0
	for _, h := range lists {
		if h.Total == nil {
			without++
		}
	}
	if without > 0 && (without == len(lists) || len(s.memory.Counts) != len(lists)) {
		return
	}
	total, places, exceeds := 0, []string(nil), false
	for i, h := range lists {
		n, has := h.Total.(int)
		if !has {
			n, h.TotalAt = s.memory.Counts[i], "the items of "+s.nameOfList(i)
		} else if without > 0 {
			exceeds = exceeds || n > s.memory.Counts[i]
		}
		if !slices.Contains(places, h.TotalAt) {
			total, places = total+n, append(places, h.TotalAt)
		}
		sum.TotalRead, sum.TotalIsLeast = sum.TotalRead || h.TotalRead, sum.TotalIsLeast || h.TotalIsLeast
		sum.TotalIsRough = sum.TotalIsRough || h.TotalIsRough
	}
	if without == 0 || exceeds {
		s.state.counted = exceeds
		sum.Total, sum.TotalAt = total, strings.Join(places, " + ")
	}
}

// A foundSign is a value of a response that may describe its list.
type foundSign struct {
	path   []string // path of a value in the body
	lists  []int    // indices of the lists of items that it is about; empty means all
	rank   int      // rank of its name; see [apinames.Sign]
	kind   apinames.SignKind
	at     string // place of the value, for messages
	value  any
	inBody bool
	rough  bool                     // whether the name also has other meanings
	least  bool                     // whether a total is a lower bound
	by     func(language.Read) bool // reports whether a rule with this read knows the value; may be nil
}

// name returns the key of the value, or the name of its header.
func (f foundSign) name() string {
	if n := len(f.path); n > 0 {
		return f.path[n-1]
	}
	return f.at
}

// signsOf returns the signs of the last response, beginning with its body. Signs about more lists come first. The
// list is not nil.
func (s signSearch) signsOf() []foundSign {
	found := s.signsInBody()
	for _, sign := range headerSigns() {
		values := s.header[sign.key]
		if len(values) == 0 {
			continue
		}
		if v := sign.ValueOf(values[0]); v != nil {
			place := sign.Name
			if sign.JSON {
				key, _ := sign.Member(values[0])
				place += "." + key
			}
			found = append(found, foundSign{kind: sign.Kind, at: place, value: v, by: readsHeader(sign.Name)})
		}
	}
	found = s.appendCounts(s.appendLink(s.appendRange(found)))
	for i := range found {
		_, found[i].lists = s.subject.holder(found[i].path[:max(0, len(found[i].path)-1)])
	}
	slices.SortStableFunc(found, func(a, b foundSign) int { return len(b.lists) - len(a.lists) })
	return found
}

// appendCounts appends the totals and numbers of pages that stopping rules read: the configuration says what they are, whatever
// their names.
func (s signSearch) appendCounts(found []foundSign) []foundSign {
	for _, count := range s.subject.counts {
		if v, present := count.read.Lookup(s.context); present {
			sign := foundSign{kind: count.kind, at: count.read.String(), value: v, by: count.isRead}
			if sign.inBody = count.read.InBody(); sign.inBody {
				sign.path = count.read.Path
			}
			found = append(found, sign)
		}
	}
	return found
}

// compareTotals corrects the total of the last page by the total of the first page. A total that equals
// the number of items on both pages counts the items of a page and not of the list. If the last
// page has no total, the API may have failed on it: then the total of the first page is used,
// unless the list has outgrown it. So it is with the number of pages.
func (s signSearch) compareTotals(signs *rules.Signs, c *rules.Context, hasTotal bool) {
	first := s.memory.FirstTotal
	if signs.Pages == nil && c.Page > 1 && s.memory.FirstPages > 0 {
		signs.Pages, signs.PagesAt = s.memory.FirstPages, s.memory.PagesAt+" of page 1"
	}
	if last, ok := signs.Total.(int); ok && first != nil && first.Total != first.Count && signs.TotalAt == first.At &&
		s.subject.job.Analysis().RequestsByPosition() {
		s.facts.Decreased = max(0, first.Total-last)
	}
	switch {
	case first == nil || c.Page == 1:
	case signs.Total == nil && !hasTotal && first.Total >= c.Total.Items:
		signs.Total, signs.TotalAt, signs.TotalRead = first.Total, first.At+" of page 1", first.Read
		signs.TotalIsRough, signs.TotalIsLeast = first.Rough, first.Least
	case signs.TotalAt == first.At && signs.Total == c.Count && first.Total == first.Count:
		signs.Total, signs.TotalAt, signs.TotalRead = nil, "", false
	}
}

// FirstTotal returns the total of items that the first page states, or 0.
func (w *Watcher) FirstTotal() int {
	first := w.history.totalMemory.FirstTotal
	if first == nil {
		return 0
	}
	return first.Total
}

// noticeTotal records what the first page says about the list, given its signs.
func (s signSearch) noticeTotal(signs *rules.Signs) {
	c := s.context
	if c.Page != 1 || !s.reading.HasContent() {
		return
	}
	if signs.Before != "" && c.Count > 0 && s.subject.job.Analysis().RequestsByPosition() {
		s.facts.Preceded, s.facts.BackToZero = signs.Before, signs.BackToZero
	}
	if pages, ok := signs.Pages.(int); ok {
		s.memory.FirstPages, s.memory.PagesAt = pages, signs.PagesAt
	}
	if signs.More == true {
		s.memory.FirstMore = signs.MoreAt
	}
	s.memory.FirstNext = signs.Next != nil
	if signs.Total != nil {
		total, _, _ := apinames.Total(signs.Total)
		s.memory.FirstTotal = &firstTotal{
			Total: total, Count: c.Count, At: signs.TotalAt, Read: signs.TotalRead, Rough: signs.TotalIsRough, Least: signs.TotalIsLeast,
		}
	}
}

// readsTo returns a function that reports whether a rule reads the value at a path of the body, a part of it that
// the last response has, or a value that contains it.
func (p *listView) readsTo(keys []string) func(language.Read) bool {
	return func(read language.Read) bool {
		n := min(len(read.Path), len(keys))
		if !read.InBody() || n == 0 || !slices.Equal(read.Path[:n], keys[:n]) {
			return false
		}
		_, present := read.Lookup(p.context)
		return present || n == len(read.Path)
	}
}

// quoted matches a text in quotes, and relation a link with its relation, if no quotes are closed.
var (
	quoted   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[^"]*"`) })
	relation = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^<[^>]*>.*;\s*rel\s*=\s*[^"\s]`) })
)

// note records a value if it is the first sign of its kind.
func (s signSearch) note(signs *rules.Signs, sign foundSign) {
	read := sign.by != nil && slices.ContainsFunc(s.subject.decisives, sign.by)
	switch v, path := sign.value, sign.at; sign.kind {
	case apinames.SignTotal:
		s.noteTotal(signs, sign, read)
	case apinames.SignPages:
		if n, _, ok := apinames.Total(v); signs.Pages == nil && ok {
			signs.Pages, signs.PagesAt = n, path
		}
	case apinames.SignNext:
		isPastNumber := apinames.Key(sign.name()).IsNextPageNumber() && isPast(v, s.context)
		if signs.Next == nil && s.isNext(sign.name(), v) && !isPastNumber {
			signs.Next, signs.NextAt, signs.NextRead, signs.NextIsRough, signs.NextInBody = v, path, read, sign.rough, sign.inBody
		}
	case apinames.SignPrevious, apinames.SignFirst:
		if flag, ok := apinames.Flag(v); ok && flag == (sign.kind == apinames.SignPrevious) && signs.Before == "" {
			signs.Before = fmt.Sprintf("%s is %v", path, v)
		}
	case apinames.SignBack:
		if now, to, ok := leadsBack(sign.name(), v, s.context.Sent.URL); ok && signs.Before == "" {
			signs.Before, signs.BackToZero = path+" leads to the page before", now == 1 && to == 0
		}
	case apinames.SignSize:
		if n, _, ok := apinames.Total(v); signs.Size == nil && ok {
			signs.Size, signs.SizeAt = n, path
		}
	case apinames.SignMore, apinames.SignLast:
		noteMore(signs, sign, read)
	}
}

// noteTotal records a total, unless it may be the number of items of the page.
func (s signSearch) noteTotal(signs *rules.Signs, sign foundSign, read bool) {
	key := apinames.Key(sign.name())
	n, least, ok := apinames.Total(apinames.Ungroup(sign.value))
	if !ok || signs.Total != nil || key.MayCountPage() && n == s.countOf(sign.lists) {
		return
	}
	signs.Total, signs.TotalAt, signs.TotalRead = n, sign.at, read
	signs.TotalIsLeast = least || sign.least || key.IsEstimate(sign.value)
	signs.TotalIsRough = signs.TotalIsRough || sign.rough || key.IsRoughTotal(sign.value)
}

// noteMore records a flag that says whether there is more, or a number of items that are left. A second flag replaces the
// first if they disagree, or if a rule reads only the first.
func noteMore(signs *rules.Signs, sign foundSign, read bool) {
	key, v := apinames.Key(sign.name()), sign.value
	if n, _, ok := apinames.Total(v); ok && key.IsRestCount() {
		v = n > 0
	}
	_, isFlag := v.(bool)
	flag, ok := key.Flag(v)
	more := flag == (sign.kind == apinames.SignMore)
	switch {
	case ok && signs.More == nil:
		signs.More, signs.MoreAt, signs.MoreRead, signs.MoreIsRough = more, sign.at, read, sign.rough
	case !ok || !isFlag || sign.rough || !more:
	case signs.More == false: // two flags disagree
		signs.More, signs.MoreAt, signs.MoreIsRough = true, sign.at, true
	case signs.MoreRead && !read: // a flag that no rule reads says the same
		signs.MoreAt, signs.MoreRead, signs.MoreIsRough = sign.at, false, false
	}
}

// countOf returns the number of items that the last page has of some lists.
func (p *listView) countOf(lists []int) (count int) {
	if len(lists) == len(p.subject.lists) {
		return p.context.Count
	}
	for _, i := range lists {
		count += p.reading.Lists[i].Items.Len()
	}
	return count
}

// isNext reports whether a value points to another page: text or a number that is not part of the
// request for this page.
func (p *listView) isNext(key string, v any) bool {
	c := p.context
	if links, _ := v.([]any); len(links) > 0 { // as HAL may have them: {"next": [{"href": "/users?page=2"}]}
		v = links[0]
		if _, ok := value.Members(v); !ok {
			return false
		}
	}
	if object, ok := value.Members(v); ok {
		v = apinames.Key(key).NextIn(object)
	}
	text, ok := value.Text(v)
	if _, flag := v.(bool); !ok || flag || value.Empty(v) || slices.Contains(noNext, strings.ToLower(text)) {
		return false
	}
	if address, err := requests.Resolve(c.Sent.URL, text); err == nil && p.wasRequested(address) {
		return false
	}
	return !contains(c.Sent.Params, text) && !contains(c.Sent.Body, text)
}

// wasRequested reports whether an address is that of the page. In a recording, values of parameters such as token may be hidden.
func (p *listView) wasRequested(address string) bool {
	sent := p.context.Sent.URL
	return p.redactor.Text(address) == p.redactor.Text(sent) || address == p.redactor.Shown(address) && address == p.redactor.Shown(sent)
}

// leadsBack reports whether a link differs from the address of a request in a smaller position, and returns both: page=0
// after page=1.
func leadsBack(key string, v any, sent string) (now, to int, ok bool) {
	if object, ok := value.Members(v); ok {
		v = apinames.Key(key).NextIn(object)
	}
	text, _ := v.(string)
	if !strings.Contains(text, "?") {
		return 0, 0, false
	}
	params := requests.ParseQuery(sent)
	for _, m := range requests.ParseQuery(text) {
		if !apinames.IsPageNumber(m.Name) && !apinames.IsItemIndex(m.Name) {
			continue
		}
		first, _ := params.Get(m.Name)
		now, isNow := position(first)
		to, isTo := position(m.Value)
		if isNow && isTo && to < now {
			return now, to, true
		}
	}
	return 0, 0, false
}

// isPast reports whether v, which an API calls the number of the next page, is the number of a page
// that was read: on the last page, or after it, some APIs name the last page.
func isPast(v any, c *rules.Context) bool {
	text, _ := value.Text(v)
	next, err := strconv.Atoi(text)
	if err != nil {
		return false
	}
	params, _ := value.Members(c.Sent.Params)
	for _, m := range params {
		text, _ := value.Text(m.Value)
		if page, err := strconv.Atoi(text); err == nil && apinames.AlikeAny(m.Name, apinames.PageNumberNames()) {
			return next <= page
		}
	}
	return next <= c.Total.Pages
}

// noNext are texts by which APIs say that there is no next page, in lower case.
var noNext = []string{"0", "-1", "null", "nil", "none", "undefined", "end", "-", "javascript:void(0)"}

// countLists counts the items of each of several lists.
func (s signSearch) countLists() {
	if s.subject.severalLists() == nil || len(s.reading.Lists) == 0 {
		return
	}
	if len(s.memory.Counts) != len(s.reading.Lists) {
		s.memory.Counts = make([]int, len(s.reading.Lists))
	}
	for i, list := range s.reading.Lists {
		s.memory.Counts[i] += list.Items.Len()
	}
}
