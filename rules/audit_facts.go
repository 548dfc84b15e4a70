package rules

// Signs holds the values of a response that describe its list, under names that many APIs use.
// Audit rules see them as `signs`.
type Signs struct {
	Total        any    `expr:"total" doc:"the number of items in the list; nil if it is unknown"`
	TotalAt      string `expr:"totalAt" doc:"where the response has it: meta.total"`
	TotalRead    bool   `expr:"totalRead" doc:"whether a rule that decides reads it"`
	TotalIsLeast bool   `expr:"totalIsLeast" doc:"whether there may be more items than the total, which is a lower bound or an estimate"`
	TotalIsRough bool   `expr:"totalIsRough" doc:"whether the total may be an estimate, or count something else than items"`
	Pages        any    `expr:"pages" doc:"the number of pages of the list; nil if it is unknown"`
	PagesAt      string `expr:"pagesAt" doc:"where the response has it"`
	Next         any    `expr:"next" doc:"a link to or a token of another page; nil if none"`
	NextAt       string `expr:"nextAt" doc:"where the response has it"`
	NextRead     bool   `expr:"nextRead" doc:"whether a rule that decides reads it"`
	NextIsRough  bool   `expr:"nextIsRough" doc:"whether the name of the token also has other meanings"`
	NextInBody   bool   `expr:"nextInBody" doc:"whether the body has it, so that the same page has the same"`
	More         any    `expr:"more" doc:"whether there is more; nil if it is unknown"`
	MoreAt       string `expr:"moreAt" doc:"where the response has it"`
	MoreRead     bool   `expr:"moreRead" doc:"whether a rule that decides reads it"`
	MoreIsRough  bool   `expr:"moreIsRough" doc:"whether the name of the flag also has other meanings"`
	Size         any    `expr:"size" doc:"the number of items of a full page, as the response states it; nil if it is unknown"`
	SizeAt       string `expr:"sizeAt" doc:"where the response has it: meta.per_page"`
	Before       string `expr:"before" doc:"where the response says that there are pages before it: first is false; empty if it does not"`
	BackToZero   bool   `expr:"backToZero" doc:"whether it is a link from page 1 to a page 0, which may not exist"`
	LargestPage  int    `expr:"largestPage" doc:"the number of items of the largest page"`
}

// ListFacts holds the observations that a job made of its list as a whole. Audit rules see it as `list`, whose members are the
// facts of all groups. Only pages and items since the latest restart count.
type ListFacts struct {
	OrdinaryFacts
	RepeatFacts
	PositionFacts
	PlaceFacts
	ItemFacts
	KeyFacts
	EndFacts
	ErrorFacts
	KeptFacts
	FileFacts
}

// OrdinaryFacts holds the facts that say nothing by themselves: most lists have some. See [FactsIn].
type OrdinaryFacts struct {
	Identified int `expr:"identified" doc:"items whose identifiers were compared: of a large page those at its ends"`

	Chosen     bool `expr:"chosen" doc:"whether a stopping rule that the configuration has ended the list"`
	Again      bool `expr:"again" doc:"whether only a page that came again has ended the list, as guards do by default"`
	Short      bool `expr:"short" doc:"whether nothing but the number of items on the last page has ended the list"`
	CountAlone bool `expr:"counted" doc:"whether requests depend on no response: only numbers of items end the list"`
	Reached    bool `expr:"reached" doc:"whether an error follows as many items as the total of page 1, which has fewer"`
	NextGone   bool `expr:"nextGone" doc:"whether page 1 points to another page, and the last one does not"`
}

// RepeatFacts holds the facts about pages and requests that came again.
type RepeatFacts struct {
	Repeats       int    `expr:"repeats" doc:"pages with the same items as an earlier page, although another request was made"`
	RepeatPage    int    `expr:"repeatPage" doc:"the first of these pages; 0 if none"`
	RepeatOf      int    `expr:"repeatOf" doc:"the earlier page with these items"`
	RepeatCount   int    `expr:"repeatCount" doc:"the number of these items"`
	RepeatWritten bool   `expr:"repeatWritten" doc:"whether such items were written again"`
	FirstAgain    int    `expr:"firstAgain" doc:"the first page with the items of page 1, although another request was made; 0 if none"`
	FirstParams   string `expr:"firstParams" doc:"what differs between these two requests"`

	Cycles    int    `expr:"cycles" doc:"pages whose request was made before, without a change in what rules read; see repeatedRequest"`
	CyclePage int    `expr:"cyclePage" doc:"the first of these pages; 0 if none"`
	CycleSent string `expr:"cycleSent" doc:"its request"`
	Stuck     bool   `expr:"stuck" doc:"whether the last page, which has items, is the same as the page before, for the same request"`

	CursorFirst string `expr:"cursorFirst" doc:"the first item of page 1, if the next request continues from it and page 2 is empty"`
	CursorPage  int    `expr:"cursorPage" doc:"a full page with new items, after which the same request was made again; 0 if none"`
	TiePage     int    `expr:"tiePage" doc:"the first full page whose last two items share the value from which the next request goes on"`
	Tie         string `expr:"tie" doc:"the parameter with this value"`
}

// PositionFacts holds the facts about the positions, the sizes and the numbers of pages that requests and responses state.
type PositionFacts struct {
	Preceded    string `expr:"preceded" doc:"where page 1 says that pages come before it, if requests name positions; empty if nowhere"`
	BackToZero  bool   `expr:"backToZero" doc:"whether it is a link from page 1 to a page 0, which may not exist"`
	Skipped     string `expr:"skipped" doc:"a stated position after the requested one, with both; empty if none"`
	SkippedPage int    `expr:"skippedPage" doc:"the first page with such a response; 0 if none"`

	Decreased   int    `expr:"decreased" doc:"how much the total has fallen since page 1, if requests name positions in the list"`
	PagesBefore int    `expr:"pagesBefore" doc:"the number of pages that page 1 states, if the last page states a smaller one; 0 if none"`
	MoreBefore  string `expr:"moreBefore" doc:"the flag for more that earlier pages have, if the last, full page lacks it; empty if none"`

	Overridden string `expr:"overridden" doc:"a parameter of the latest link that one of the job overrides, with both values, or empty"`
	LostParams string `expr:"lostParams" doc:"parameters that page 2 lacks if its size is another; empty if none"`
	SizeBefore int    `expr:"sizeBefore" doc:"the number of items on page 1"`
	SizeAfter  int    `expr:"sizeAfter" doc:"the number of items on page 2"`

	Asked  string `expr:"asked" doc:"limit=100, if a job that is not paged asks for as many items as it got; empty if not"`
	Single bool   `expr:"single" doc:"whether the job is not paged, and has no other partition or states the size of its page"`
}

// PlaceFacts holds the facts about pages that lack the list of items, or another path.
type PlaceFacts struct {
	Missing   string `expr:"missing" doc:"paths that rules read and no response had; empty if none"`
	Renamed   bool   `expr:"renamed" doc:"whether no response had the list of items, but the last one has another list of objects"`
	MovedPage int    `expr:"movedPage" doc:"the first page that lacks the list of items of page 1 and has another list; 0 if none"`
	MovedTo   string `expr:"movedTo" doc:"where this page has it"`
	MovedRead bool   `expr:"movedRead" doc:"whether the items there were read, since no dataField is set"`

	LostPage   int    `expr:"lostPage" doc:"the first page that has no list, although one before it and one after it have items; 0 if none"`
	GapPage    int    `expr:"gapPage" doc:"the first page between others that lacks a list of several, has {} or null, or failed, or 0"`
	GapList    string `expr:"gapList" doc:"the path of this list"`
	AbsentPage int    `expr:"absentPage" doc:"the latest page, if it lacks one of several lists that pages before it have; else 0"`
	AbsentList string `expr:"absentList" doc:"the path of this list"`
	BarePage   int    `expr:"barePage" doc:"the latest page, if it has no list of items and pages before it have items; 0 if it has one"`
	BareBeside bool   `expr:"bareBeside" doc:"whether that page has another member of page 1"`

	LandedPage int    `expr:"landedPage" doc:"the first page without items that was redirected elsewhere; 0 if none"`
	LandedPath string `expr:"landedPath" doc:"the path to which it was redirected"`
}

// ItemFacts holds the facts about items that occur twice, and about objects and lists within items.
type ItemFacts struct {
	Duplicates int    `expr:"duplicates" doc:"of the items whose identifiers were compared, those that equal one of an earlier page"`
	Revised    int    `expr:"revised" doc:"of these, those whose identifier was on an earlier page with other content"`
	Duplicate  string `expr:"duplicate" doc:"the identifier of the first such item"`
	ShiftPage  int    `expr:"shiftPage" doc:"its page; 0 if none"`

	Twice     int    `expr:"twice" doc:"of the items whose identifiers were compared, those that equal one of the same page"`
	TwiceID   string `expr:"twiceID" doc:"the identifier of the first such item"`
	TwicePage int    `expr:"twicePage" doc:"its page; 0 if none"`

	Rewritten int `expr:"rewritten" doc:"items written before the latest restart, which wrote them again"`

	DuplicateKey string `expr:"duplicateKey" doc:"the first key that an object has twice, if rules read it or it leads to items"`

	Nested     int    `expr:"nested" doc:"items with a truncated list that no job reads to its end; below a star, the number of lists"`
	NestedSign string `expr:"nestedSign" doc:"where the first of them says so: comments.pageInfo.hasNextPage = true"`
	NestedFor  string `expr:"nestedFor" doc:"the variable of a job that reads such lists; empty: they are below a star of dataField"`
}

// KeyFacts holds the facts about the key of the items.
type KeyFacts struct {
	SameKey     int    `expr:"sameKey" doc:"items with the key of an earlier item, among the latest that are remembered"`
	SameKeyText string `expr:"sameKeyText" doc:"the key of the first such item, as JSON"`
	SameKeyPage int    `expr:"sameKeyPage" doc:"its page; 0 if none"`
	SameKeyOf   int    `expr:"sameKeyOf" doc:"the page of the earlier item"`
	Keyless     int    `expr:"keyless" doc:"items that lack their key"`
	KeylessPage int    `expr:"keylessPage" doc:"the page of the first such item; 0 if none"`
	Ambiguous   int    `expr:"ambiguous" doc:"items with the key of an item of an earlier partition or of another job, but other content"`
	OtherJob    string `expr:"otherJob" doc:"that job; empty for a partition"`
	KeyPaths    string `expr:"keyPaths" doc:"the paths of the key, if any of this was noticed"`
}

// EndFacts holds the facts about an end that may be none: a number, a failure, a page after it, or a full window.
type EndFacts struct {
	Negative  string `expr:"negative" doc:"the negative or broken number that ended the list as a total, of items or pages; empty if none"`
	Bound     string `expr:"bound" doc:"the total or number of pages that ended the list, if there may be more; empty if none"`
	EndStatus int    `expr:"endStatus" doc:"the status of the error response with which an onError rule ended the list; 0 if none did"`

	BeyondPage  int `expr:"beyondPage" doc:"a page after the last one that was requested ahead and has items of its own; 0 if none"`
	BeyondCount int `expr:"beyondCount" doc:"the number of its items"`

	FullWindow string `expr:"fullWindow" doc:"the window in which splitWhen was met, although it cannot be split further; empty if none"`
	WindowKept bool   `expr:"windowKept" doc:"whether it cannot because an earlier run has written pages of it"`
}

// ErrorFacts holds the facts about a successful response that reports an error.
type ErrorFacts struct {
	Error      string     `expr:"error" doc:"what the body of a successful response says about an error; empty if it says nothing"`
	ErrorPage  int        `expr:"errorPage" doc:"the page with this body"`
	ErrorDoubt ErrorDoubt `expr:"errorDoubt" doc:"why it may be no error: see [ErrorDoubt]"`
}

// KeptFacts holds the facts about the values that runs keep for the next one.
type KeptFacts struct {
	KeptUnread string `expr:"keptUnread" doc:"kept values on which the first page, which has items, does not depend; empty if none"`
	KeptUnsent string `expr:"keptUnsent" doc:"kept values that the first request reads, but is the same without; empty if none"`
	KeptStays  string `expr:"keptStays" doc:"a kept value on which the items depend, and that is nil or empty after items; empty if none"`
	KeptAhead  string `expr:"keptAhead" doc:"the first value for the next run that is a time more than a day later than now; empty if none"`

	Older     int    `expr:"older" doc:"of the items that were compared, those from before the kept value that was sent"`
	OlderOf   int    `expr:"olderOf" doc:"the number of items that were compared with it"`
	OlderText string `expr:"olderText" doc:"the first older item and the value that was sent: id = 7, although since = 20 was sent"`

	Known  int    `expr:"known" doc:"items that are not later than the kept value, if they are added to a file; 0 if none"`
	Reread string `expr:"reread" doc:"the end of the windows of the run before, with which those of this one begin; empty if none"`
}

// FileFacts holds the facts about the file that the rows replace, and about the contract of the data.
type FileFacts struct {
	File string `expr:"file" doc:"the file that the rows of the job replace; empty if none"`
	Rows int    `expr:"rows" doc:"the number of these rows"`
	Had  int    `expr:"had" doc:"the number of rows that the file has"`

	Drift  string `expr:"drift" doc:"how the data differ from those that a contract describes; empty if they do not"`
	Frozen bool   `expr:"frozen" doc:"whether the contract is frozen"`
}

// An ErrorDoubt says why the report of an error in [ListFacts] may be none. It is an alias, since the machine of the rule
// language compares only values of type string with texts.
type ErrorDoubt = string

// The doubts about errors.
const (
	DoubtNone  ErrorDoubt = ""      // it is certainly an error
	DoubtItem  ErrorDoubt = "item"  // it may be part of an item, because the object that has it has an identifier
	DoubtEmpty ErrorDoubt = "empty" // it may only say that the list of a partition, which is there, is empty
)

// Facts is a set of facts about a list. An audit rule is met only if the list has all facts that the
// rule requires, so most rules need not be evaluated: of most lists, few facts are known.
type Facts uint16

// The facts, which can be combined.
const (
	FactList     Facts = 1 << iota // something was noticed of the list, besides items with identifiers
	FactTotal                      // there is a sign of the total
	FactPages                      // there is a sign of the number of pages
	FactNext                       // there is a sign of another page
	FactMore                       // there is a sign that there is more
	FactShort                      // the last page has items, and fewer than the page size
	FactOverfull                   // a page has more items than the page size
	FactMany                       // a thousand items or more were read
	FactFile                       // the rows replace the rows of a file, which only the end of the list can tell
)

// FactsIn returns the facts in the page context of the audit. It must agree with the
// table: no rule is met without the facts that it requires. [OrdinaryFacts] do not count.
func FactsIn(c *Context) Facts {
	factIf := func(fact Facts, found bool) Facts {
		if !found {
			return 0
		}
		return fact
	}
	limit, isNumber := c.Limit.(int)
	isUnknown := c.Limit != nil && !isNumber // whether a page is as large as the limit
	noticed := *c.List
	noticed.OrdinaryFacts = OrdinaryFacts{}
	return factIf(FactList, noticed != ListFacts{}) | factIf(FactTotal, c.Signs.Total != nil) |
		factIf(FactPages, c.Signs.Pages != nil) | factIf(FactNext, c.Signs.Next != nil) | factIf(FactMore, c.Signs.More == true) |
		factIf(FactShort, c.Count > 0 && (c.Count < limit || isUnknown)) |
		factIf(FactOverfull, isNumber && c.Signs.LargestPage > limit || isUnknown) |
		factIf(FactMany, c.Total.Items >= 1000) | factIf(FactFile, c.List.File != "")
}

// PartitionFacts holds the observations about the partitions of a job. The rules of [PartitionAudits]
// see it as `partitions`.
type PartitionFacts struct {
	Parent    string `expr:"parent" doc:"the job for whose items the partitions are; empty if none"`
	Restarted bool   `expr:"restarted" doc:"whether the list of this job was restarted"`

	Absent      string `expr:"absent" doc:"paths of these items that the job reads and no item has; empty if none"`
	AbsentInAll bool   `expr:"absentInAll" doc:"whether all requests, or items of several partitions, lack a value, or all are left out"`

	Nil       string `expr:"nil" doc:"a rule whose value is nil in a partition; empty if none"`
	NilSource string `expr:"nilSource" doc:"its source"`
	NilParts  bool   `expr:"nilParts" doc:"whether only a part of the value is nil"`
	NilIn     int    `expr:"nilIn" doc:"the number of partitions in which it is nil"`
	NilOf     int    `expr:"nilOf" doc:"the number of partitions that compute it"`
	NilInAll  bool   `expr:"nilInAll" doc:"whether the value, or one part of it, is nil in all of them"`

	Failed int `expr:"failed" doc:"partitions that failed and were skipped"`
	Of     int `expr:"of" doc:"the number of all partitions"`

	Detail string `expr:"detail" doc:"the list that was read of responses that may be items themselves; empty if none"`

	Header      string `expr:"header" doc:"the header of CSV of a partition, if response.columns replaces the headers; empty if none"`
	OtherHeader string `expr:"otherHeader" doc:"that of another partition, if it differs; empty if none"`

	Alike      int    `expr:"alike" doc:"partitions with items, if all have the same items on their first pages; 0 if they differ"`
	Duplicates int    `expr:"duplicates" doc:"items that an earlier partition has, too"`
	Key        string `expr:"key" doc:"the paths of the key of the items; empty if none"`
}
