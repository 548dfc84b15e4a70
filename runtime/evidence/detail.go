package evidence

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Detail says whether the responses to the requests for the items of a parent may be items themselves, such as {"id": 1,
// "name": "Ann", "roles": []} at users/1, whose only list has been taken for the items. It does not depend on the order
// of the partitions.
type Detail struct {
	List    string `json:"list,omitempty"`    // the list that was taken; of several, the first in the order of their names
	Refuted bool   `json:"refuted,omitempty"` // whether a response is no such item
}

// A detailMemory is what a [detailSearch] remembers of the only page.
type detailMemory struct {
	Detail Detail `json:"detail,omitzero"`
}

// A detailSearch finds an item that was read as a page.
type detailSearch struct {
	signSearch
	memory *detailMemory
}

// notice notices an item that was read as a page, or a page that is none. A response without a list has no items, which the log
// says, and may be an item, too.
func (s detailSearch) notice() {
	job := s.subject.job
	if job.Parent == nil || job.Paged() || s.subject.lists != nil || s.context.Status >= http.StatusBadRequest || s.reading.Place == "" {
		return
	}
	if s.isDetail() {
		s.memory.Detail.List = s.reading.Place
	} else {
		s.memory.Detail.Refuted = true
	}
}

// isDetail reports whether the page may be an item: it has an identifier, a value that its request has, another member, no sign
// of a list, and a list whose name is neither usual for items nor the last one of the path of the request.
func (s detailSearch) isDetail() bool {
	list, names := s.rootList(), s.reading.Names(nil)
	if list == "" || apinames.Key(list).ListKind() == apinames.LikelyList || !slices.ContainsFunc(names, apinames.IsIdentifier) {
		return false
	}
	signs := s.read()
	if signs.Total != nil || signs.Pages != nil || signs.More != nil || signs.Next != nil {
		return false
	}
	path, params := segmentsOf(s.sent.URL), parametersOf(s.sent)
	isOwn := func(name string) bool { return name != list && !apinames.IsIdentifier(name) && !describesList(name) }
	isSent := func(name string) bool {
		v, _ := s.lookup([]string{name})
		text, isScalar := value.Text(v)
		return isScalar && text != "" && (isOwn(name) || apinames.IsIdentifier(name)) &&
			(slices.Contains(path, text) || contains(params, text))
	}
	return !apinames.Alike(path[len(path)-1], list) && slices.ContainsFunc(names, isSent) && slices.ContainsFunc(names, isOwn)
}

// segmentsOf returns the parts of the path of an address, which are at least one.
func segmentsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{""}
	}
	return strings.Split(u.Path, "/")
}

// add adds the response of another partition.
func (d *Detail) add(other Detail) {
	d.Refuted = d.Refuted || other.Refuted
	if other.List != "" {
		d.List = min(cmp.Or(d.List, other.List), other.List)
	}
}

// Finding returns the finding that the responses of the partitions of a job may be items themselves, or nil.
func (d *Detail) Finding(job *compile.Job) *trace.Finding {
	if d.Refuted || d.List == "" {
		return nil
	}
	return AuditPartitions(job, rules.PartitionFacts{Detail: d.List})
}
