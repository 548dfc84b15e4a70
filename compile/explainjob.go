package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// explain describes the job.
func (j *Job) explain(facts Facts) JobExplanation {
	set, redact := j.Set, facts.Redact
	x := JobExplanation{
		Job: set.Job.ID, Method: set.Method, Scroller: set.Scroller, Limit: set.Limit, Items: j.items(),
		IncludeParams: set.IncludeParams, Sequential: redact(j.Sequential()), Unused: slices.Clone(set.Unused),
	}
	for _, keys := range set.Ignore {
		x.Ignore = append(x.Ignore, rules.PathOf(keys...))
	}
	if set.Limit != nil {
		from := set.LimitFrom
		x.LimitFrom = &from
	}
	x.requests(j, facts)
	x.rules(j, redact)
	x.NoNext = j.noNext(redact)
	x.Bounds = j.bounds()
	if x.Partitions = j.partitions(redact); x.Partitions != nil {
		x.Partitions.Bounds = j.ofPartitions(facts.MaxPartitions)
	}
	for _, f := range j.functions {
		x.Functions = append(x.Functions, FunctionExplanation{f.Name, f.Signature})
	}
	x.Summary = j.summary(&x)
	x.path, x.paging = set.Job.Path(), set.Path
	x.endpoint, x.facts = set.Job.Method+" "+set.Job.Endpoint, j.facts(&x, redact)
	return x
}

// rules describes the job's rules.
func (x *JobExplanation) rules(j *Job, redact func(string) string) {
	for _, group := range []struct {
		of []*Expression
		to *[]RuleExplanation
	}{
		{j.Binds, &x.Computed}, {j.Init, &x.State}, {j.Next, &x.State}, {j.Parts, &x.Next}, {expressions(j.Stops), &x.Stops},
		{expressions(j.OnErrors), &x.OnError}, {j.Keeps, &x.Keep}, {j.Shape.rules, &x.Shape}, {expressions(j.Audit()), &x.Audit},
	} {
		for _, e := range group.of {
			*group.to = append(*group.to, e.explain(redact))
		}
	}
	for i, e := range j.Parts {
		switch {
		case x.Next[i].Value != "":
		case isIdentifier(e.code.syntax, "limit"):
			x.Next[i].Value = j.limitInWords()
		default:
			x.Next[i].Value = redact(j.laterInWords(e))
		}
	}
	never := j.unreached()
	for i, s := range j.Stops {
		if b, ok := j.prover().bound(s.code.syntax); ok {
			x.Stops[i].Bound = &b
		}
		x.Stops[i].Never = never[s]
	}
	for i, s := range j.OnErrors {
		x.OnError[i].Never = j.whyNever(s)
	}
	for i, s := range j.Audit() {
		x.Audit[i].Never = j.whyNever(s)
	}
}

// laterInWords says the value of a part of the requests after the first, if that differs from
// its source: the alternative that is left after the first page.
func (j *Job) laterInWords(e *Expression) string {
	node := j.prover().remaining(e.code.syntax)
	source := e.Rule.Source
	if node != e.code.syntax {
		source = node.String()
	}
	if words := inWords(node, source); words != e.Rule.Source {
		return words
	}
	return ""
}

// limitInWords says what a parameter with the page size holds.
func (j *Job) limitInWords() string {
	if j.Set.LimitBy != "" {
		return "as the job computes it"
	}
	if j.Set.Limit == nil {
		return "left out, since no page size is set"
	}
	return value.Preview(j.Set.Limit)
}

func (e *Expression) explain(redact func(string) string) RuleExplanation {
	r := e.Rule
	x := RuleExplanation{
		ID: r.ID, Source: redact(r.Source), Value: redact(r.Says), Outcome: r.Outcome, Do: string(r.Do), Drop: r.Drop,
		Says: redact(r.Clause), Message: redact(r.Message), Origin: r.Origin, Settings: slices.Clone(r.Uses),
		First: r.First, FirstOnly: r.Role.Builds() && !r.Subsequent, Guard: r.Guard, rule: r,
	}
	if r.FirstBy != nil {
		by := *r.FirstBy
		x.FirstBy = &by
	}
	if x.Says == x.Source {
		x.Says = redact(inWords(e.code.syntax, r.Source))
	}
	if r.Role == rules.OnError && r.Do != rules.ErrorStop {
		x.Outcome = ""
	}
	if r.Do == rules.ErrorRestart {
		x.MaxRestarts = MaxRestarts
	}
	for _, read := range e.Reads {
		x.Reads = append(x.Reads, redact(read.String()))
	}
	return x
}

// items says where the items of the job's responses are.
func (j *Job) items() ItemsExplanation {
	x := ItemsExplanation{From: j.Set.ItemsFrom}
	response, field := j.Set.Job.Response, j.Set.Job.DataField
	if response.Format != rules.JSON {
		x.Format = response.Format
	}
	switch {
	case x.Format == rules.NDJSON:
		x.Where = "each line of the response (NDJSON)"
	case x.Format == rules.CSV:
		x.Where = "each row of the response (CSV" + tableInWords(response) + ")"
	case field == nil:
		x.Where = "the response itself if it is a list, otherwise the only list in its root (dataField is not set)"
		x.From = rules.Origin{By: rules.Author{Kind: rules.AuthorDefault}}
	case field.Lists != nil:
		x.Path, x.Where = field.Text, listsInWords(field.Lists)
	case len(field.Keys) == 0:
		x.Path, x.Where = field.Text, "the whole response"
	default:
		x.Path, x.Where = field.Text, "at "+field.Text+" of the response"
	}
	switch x.Format {
	case rules.XML:
		x.Where += " (XML)"
	case rules.Auto:
		x.Where += "; each line or row of NDJSON and CSV (the format is that of the response" + tableInWords(response) + ")"
	}
	return x
}

// listsInWords says where the items of several lists are, in their order.
func listsInWords(lists []rules.ItemList) string {
	var places []string
	for _, l := range lists {
		place := "at " + l.Text + " of the response"
		if len(l.Steps) == 0 {
			place = "the whole response"
		}
		if l.DataType != "" {
			place += " (" + l.DataType + ")"
		}
		places = append(places, place)
	}
	return strings.Join(places, ", then ")
}

// tableInWords says how CSV is read, if that is configured.
func tableInWords(r rules.Response) string {
	out := ""
	if r.Delimiter != 0 {
		out += fmt.Sprintf(", delimiter %q", r.Delimiter)
	}
	switch {
	case r.Columns != nil:
		out += fmt.Sprintf(", columns %s", strings.Join(r.Columns, ", "))
	case !r.Header:
		out += ", no header"
	}
	return out
}

// The reasons of ends that no rule decides.
const (
	ReasonEnd         = "end"         // the job is not paged
	ReasonNextRequest = "nextRequest" // the rules give no address for the next request
)

// noNext describes the end of a list because there is no next request. It is nil if
// there always is one.
func (j *Job) noNext(redact func(string) string) *RuleExplanation {
	if !j.Paged() {
		return &RuleExplanation{
			ID: ReasonEnd, Source: "true", Outcome: rules.Complete, Says: "the only response is read",
			Origin: rules.Origin{By: rules.Author{Kind: rules.AuthorDefault}},
		}
	}
	i := slices.IndexFunc(j.nextParts, func(e *Expression) bool { return isAddress(e.Rule.Role) && len(e.Reads) > 0 })
	if i < 0 {
		return nil
	}
	part := j.nextParts[i].explain(redact)
	what := part.Value
	if what == "" {
		what = redact(j.laterInWords(j.nextParts[i]))
	}
	if what == "" {
		what = part.Source
	}
	return &RuleExplanation{
		ID: ReasonNextRequest, Source: "empty(" + part.Source + ")", Reads: part.Reads, Outcome: rules.Complete,
		Says:   fmt.Sprintf("there is no next request: %s is missing or empty", what),
		Origin: part.Origin, Settings: part.Settings, rule: part.rule,
	}
}

// whyNever says why a condition can never be true; empty: it can.
func (j *Job) whyNever(c *Condition) string {
	if j.prover().condition(c.code.syntax) != never {
		return ""
	}
	if j.comparesAbsentLimit(c) {
		return "no page size is set (limit)"
	}
	return "it is never true"
}

// comparesAbsentLimit reports whether a condition reads the page size, although there is none.
func (j *Job) comparesAbsentLimit(c *Condition) bool {
	none := j.Set.Limit == nil && j.Set.LimitBy == ""
	return none && slices.ContainsFunc(c.Reads, func(r Read) bool { return r.Root == "limit" && r.of == "" })
}

// unreached says of each rule that is never the reason to stop why not.
func (j *Job) unreached() map[*Condition]string {
	why, best := map[*Condition]string{}, map[string]*Condition{}
	bounds := map[*Condition]Bound{}
	for _, s := range j.Stops {
		if why[s] = j.whyNever(s); why[s] != "" {
			continue
		}
		b, ok := j.prover().bound(s.code.syntax)
		if !ok {
			continue
		}
		bounds[s] = b
		if had := best[b.Of]; had == nil || b.At < bounds[had].At {
			best[b.Of] = s
		}
	}
	for s, b := range bounds {
		if first := best[b.Of]; first != s && isComparison(s.code.syntax) {
			why[s] = fmt.Sprintf("%s stops at %s already", first.Rule.ID, bounds[first])
		}
	}
	return why
}
