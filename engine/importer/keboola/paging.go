package keboola

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A pager is the pagination of a job that is read.
type pager struct {
	*translation
	value.Object
	from string // the config path of the method
	keys []importer.Member
	out  *importer.Paging
}

// paging reads the pagination of a job: its own, or the pagination of its scroller.
func (t *translation) paging() error {
	written, from := objectAt(objectAt(t.root, "api"), "pagination"), t.reader.at("api.pagination")
	if own := objectAt(t.Object, "pagination"); len(own) > 0 {
		written, from = own, diag.Join(t.path, "pagination")
	}
	scroller, _ := value.Text(memberOf(t.Object, "scroller"))
	effective, from, err := scrolled(t.effective(from, written), from, scroller, t)
	if err != nil || !isGiven(memberOf(effective, "method")) {
		return err
	}
	p := &pager{translation: t, Object: effective, from: from, out: &importer.Paging{Kind: importer.Other}}
	return p.read()
}

// effective returns the keys of a pagination that have an effect.
func (t *translation) effective(path string, o value.Object) value.Object {
	return slices.DeleteFunc(slices.Clone(o), func(m value.Member) bool {
		at := diag.Join(path, m.Name)
		return m.Name == "pages" || t.ineffective(at)
	})
}

// scrolled returns the pagination that a job has with method multiple: its scroller, with the rules
// next to the method. A job without a scroller has no pagination.
func scrolled(o value.Object, path, scroller string, t *translation) (value.Object, string, error) {
	if memberOf(o, "method") != rules.Multiple {
		return o, path, nil
	}
	name := scroller
	if !isGiven(scroller) {
		name, _ = value.Text(memberOf(o, "default"))
	}
	inner, has := value.Members(memberOf(objectAt(o, "scrollers"), name))
	if !has {
		return nil, path, nil
	}
	path = diag.Join(diag.Join(path, "scrollers"), name)
	inner, from, err := scrolled(t.effective(path, inner), path, "", t)
	for _, m := range o.Without("method").Without("scrollers").Without("default") {
		own, both := inner.Get(m.Name)
		if both && isGiven(own) && isGiven(m.Value) {
			if err == nil {
				inner, err = stricter(inner, m)
			}
			continue
		}
		inner = inner.With(m.Name, m.Value)
	}
	return inner, from, err
}

// stricter returns a pagination with the limits of two levels: both apply, so the lower limits count.
func stricter(o value.Object, outer value.Member) (value.Object, error) {
	if outer.Name != "forceStop" {
		return o, fmt.Errorf("%s stands in the scroller and next to method multiple: write both as stopRules", outer.Name)
	}
	limits := objectAt(o, "forceStop")
	above, _ := value.Members(outer.Value)
	for _, m := range above {
		n, _ := whole(m.Value)
		if own, has := whole(memberOf(limits, m.Name)); !has || n > 0 && n < own {
			limits = limits.With(m.Name, m.Value)
		}
	}
	return o.With("forceStop", limits), nil
}

// set adds a key of the pagination.
func (p *pager) set(name string, v any) {
	p.keys = append(p.keys, importer.Member{Name: name, Value: importer.Constant(v)})
}

// text returns a setting that is a text, or its default if it is empty.
func (p *pager) text(name, usual string) string {
	text, _ := value.Text(memberOf(p.Object, name))
	if !isGiven(memberOf(p.Object, name)) {
		return usual
	}
	return text
}

// copyText adds a setting that is a text, unless it has the usual value. It returns the setting.
func (p *pager) copyText(name, usual string) string {
	text := p.text(name, usual)
	if text != usual {
		p.set(name, text)
	}
	return text
}

// copyFlag adds a setting that PHP casts to a boolean, unless it has the usual value. It returns the setting.
func (p *pager) copyFlag(name string, usual bool) bool {
	v, has := p.Get(name)
	flag := isGiven(v)
	if !has || v == nil {
		flag = usual
	}
	if flag != usual {
		p.set(name, flag)
	}
	return flag
}

// rule adds a rule that ends the list.
func (p *pager) rule(source string) {
	for i, k := range p.keys {
		if k.Name == "stopRules" {
			p.keys[i].Value.Const = append(slices.Clone(listOf(k.Value.Const)), source)
			return
		}
	}
	p.set("stopRules", []any{source})
}

func (p *pager) note(key, format string, args ...any) {
	p.translation.out.Note(importer.Note{Grade: importer.Approximate, Text: fmt.Sprintf(format, args...),
		Source: diag.Join(p.from, key), Target: "pagination"})
}

// methods has a reader for each method of the extractor. Other methods are this engine's own, and are copied.
var methods = map[string]func(*pager) error{
	"offset": (*pager).offset, "pagenum": (*pager).pageNumber, "cursor": (*pager).cursor, "response.url": (*pager).link,
	"zendesk.response.url": (*pager).zendesk, "response.param": (*pager).token,
}

func (p *pager) read() error {
	method, _ := memberOf(p.Object, "method").(string)
	read, known := methods[method]
	if !known {
		for _, m := range p.Object {
			p.keys = append(p.keys, importer.Member{Name: m.Name, Value: importer.Constant(m.Value)})
		}
		p.translation.out.Paging = p.finished()
		return nil
	}
	p.set("method", method)
	if err := read(p); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := p.shared(); err != nil {
		return err
	}
	p.translation.out.Paging = p.finished()
	return nil
}

// finished returns the pagination. The writer adds the rule for short pages, unless other rules end the list.
func (p *pager) finished() *importer.Paging {
	if p.out.Kind == importer.Pages && p.out.Short &&
		slices.ContainsFunc(p.keys, func(m importer.Member) bool { return m.Name == "stopRules" }) {
		p.rule("count < limit")
		p.out.Short = false
	}
	p.out.Keys = p.keys
	return p.out
}

// size reads the number of items of a page, and reports whether it is given: by a parameter of the job, or by
// limit.
func (p *pager) size() (given bool, err error) {
	name := p.copyText("limitParam", "limit")
	param, inJob := objectAt(p.translation.Object, "params").Get(name)
	if !inJob {
		param = memberOf(p.Object, "limit")
	}
	p.out.SizeIn = name
	if !isGiven(param) {
		return false, nil
	}
	n, isNumber := whole(param)
	if !isNumber {
		return false, fmt.Errorf("the page size must be a whole number, so that a short page is found; it is %s", value.Preview(param))
	}
	if !inJob || memberOf(p.Object, "method") == "offset" { // which must have it
		p.set("limit", n)
	}
	p.out.Size = strconv.Itoa(n)
	return true, nil
}

// withoutParam leaves out a parameter of the job that each page replaces.
func (p *pager) withoutParam(name string) {
	p.translation.out.Params = slices.DeleteFunc(p.translation.out.Params, func(m importer.Member) bool { return m.Name == name })
}

func (p *pager) offset() error {
	given, err := p.size()
	if err == nil && !given {
		err = fmt.Errorf("limit is 0")
	}
	if err != nil {
		return err
	}
	name := p.copyText("offsetParam", "offset")
	p.out.First = p.copyFlag("firstPageParams", true)
	fromJob := p.copyFlag("offsetFromJob", false)
	if start, has := objectAt(p.translation.Object, "params").Get(name); has {
		switch _, isNumber := value.Text(start); {
		case fromJob && !isNumber:
			return fmt.Errorf("the parameter %s must be a number", name)
		case !fromJob && p.out.First:
			p.withoutParam(name)
		}
	}
	p.out.Kind, p.out.Into, p.out.Short = importer.Offset, importer.Target{Name: name}, true
	return nil
}

func (p *pager) pageNumber() error {
	short, err := p.size()
	if err != nil {
		return err
	}
	name := p.copyText("pageParam", "page")
	p.out.First = p.copyFlag("firstPageParams", true)
	if p.out.First {
		p.withoutParam(name)
	}
	p.out.Kind, p.out.Into, p.out.Start = importer.Pages, importer.Target{Name: name}, 1
	if first := memberOf(p.Object, "firstPage"); first != nil {
		text, _ := value.Text(first)
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("firstPage must be a whole number; it is %s", value.Preview(first))
		}
		if p.out.Start = n; n != 1 {
			p.set("firstPage", n)
		}
	}
	p.out.Short = short
	return nil
}

func (p *pager) cursor() error {
	key, param := p.text("idKey", ""), p.text("param", "")
	p.set("idKey", pathOf(key, "."))
	p.set("param", param)
	if text := p.text("increment", ""); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("increment must be a whole number; it is %s", value.Preview(text))
		}
		p.set("increment", n)
	}
	p.copyFlag("reverse", false)
	p.note("idKey", "A fraction at %s is sent as it is; the extractor cuts it off", key)
	if key != "." {
		p.out.Kind, p.out.Path, p.out.Into = importer.LastItem, pathOf(key, "."), importer.Target{Name: param}
	}
	return nil
}

// link reads method response.url.
func (p *pager) link() error {
	path := pathOf(p.text("urlKey", "next_page"), p.text("delimiter", "."))
	if path != "next_page" {
		p.set("urlKey", path)
	}
	includes := p.copyFlag("includeParams", false)
	p.out.Kind, p.out.Path, p.out.Into = importer.NextURL, path, importer.Target{In: importer.InURL}
	if p.copyFlag("paramIsQuery", false) {
		p.out.Kind = importer.Other
		return nil
	}
	p.note("urlKey", "A link without a host is resolved against the address of its request; the extractor resolves it against baseUrl. "+
		"A link to another host needs allowedOrigins")
	if includes {
		p.note("includeParams", "The parameters of a link stay as they are; the extractor encodes them again, without repeated ones")
	}
	return nil
}

// zendesk reads the method of Zendesk's incremental exports, whose link always exists.
func (p *pager) zendesk() error {
	p.keys[0].Value = importer.Constant("response.url")
	if err := p.link(); err != nil {
		return err
	}
	link := keypath.Format("body", keypath.Split(p.out.Path))
	p.rule(fmt.Sprintf("phpEmpty(%s) or phpInt(query(%s, \"start_time\")) > %s - 360", link, link, now))
	return nil
}

// token reads method response.param.
func (p *pager) token() error {
	path, param := pathOf(p.text("responseParam", ""), "."), p.text("queryParam", "")
	p.set("responseParam", path)
	p.set("queryParam", param)
	includes := p.copyFlag("includeParams", false)
	if !includes {
		p.firstOnly(param)
	}
	method := p.translation.out.Method
	if err := p.scroll(includes, &method); err != nil {
		return err
	}
	if method == "POST" {
		p.note("responseParam", "A number at %s is sent as a text in the body; the extractor sends a number", path)
	}
	p.rule(fmt.Sprintf("phpEmpty(%s)", keypath.Format("body", keypath.Split(path))))
	p.out.Kind, p.out.Path, p.out.Into = importer.Token, path, importer.Target{Name: param}
	return nil
}

// firstOnly says that only the first request has the parameters of the job.
func (p *pager) firstOnly(but string) {
	parts := value.Object{}
	for _, m := range p.translation.out.Params {
		if name := strings.TrimPrefix(m.Name, "#"); name != but {
			parts = parts.With(name, "nil")
		}
	}
	if len(parts) > 0 {
		p.set("nextRequest", value.ObjectOf("params", parts))
		p.translation.out.Note(importer.Note{Grade: importer.Check, Source: diag.Join(p.from, "includeParams"), Target: "pagination.nextRequest",
			Text: "Only the first request has the parameters of the job. If the others need them, too, write includeParams: true instead"})
	}
}

// scroll reads scrollRequest, which the extractor merges into the request of the job. includes says whether
// the next request has the parameters of the job, and method is the method of the requests after the first.
func (p *pager) scroll(includes bool, method *string) error {
	request := objectAt(p.Object, "scrollRequest")
	if len(request) == 0 {
		return nil
	}
	var out []importer.Member
	if endpoint, _ := memberOf(request, "endpoint").(string); endpoint != "" {
		out = append(out, importer.Member{Name: "endpoint", Value: importer.Constant(endpoint)})
	}
	if own, _ := memberOf(request, "method").(string); own != "" {
		*method = own
	}
	if *method != "" && *method != "GET" {
		out = append(out, importer.Member{Name: "method", Value: importer.Constant(*method)})
	}
	params := objectAt(request, "params")
	if own := objectAt(p.translation.Object, "params"); includes {
		for i, m := range params {
			if had, both := own.Get(m.Name); both {
				params = slices.Clone(params)
				params[i].Value = value.Overlay(had, m.Value)
			}
		}
	}
	if len(params) > 0 {
		members, err := p.query(params, nil)
		if *method == "POST" {
			var body importer.Value
			body, err = p.value(params, nil)
			members = body.Object
		}
		if err != nil {
			return fmt.Errorf("scrollRequest.params: %w", err)
		}
		out = append(out, importer.Member{Name: "params", Value: importer.Value{Object: members}})
	}
	p.keys = append(p.keys, importer.Member{Name: "scrollRequest", Value: importer.Value{Object: out}})
	return nil
}

// ofMethods are the keys that belong to one method, or that [pager.size] reads.
var ofMethods = []string{"method", "limit", "limitParam", "offsetParam", "firstPageParams", "offsetFromJob", "pageParam", "firstPage",
	"idKey", "param", "increment", "reverse", "urlKey", "delimiter", "includeParams", "paramIsQuery", "responseParam", "queryParam",
	"scrollRequest"}

// shared reads the keys that all methods have.
func (p *pager) shared() error {
	for _, m := range p.Object {
		switch {
		case slices.Contains(ofMethods, m.Name) || !isGiven(m.Value):
		case m.Name == "nextPageFlag":
			p.flag(objectAt(p.Object, m.Name))
		case m.Name == "forceStop":
			if err := p.forceStop(objectAt(p.Object, m.Name)); err != nil {
				return err
			}
		case m.Name == "limitStop":
			if err := p.limitStop(objectAt(p.Object, m.Name)); err != nil {
				return err
			}
		case m.Name == "stopRules":
			for _, one := range listOf(m.Value) {
				if source, isText := one.(string); isText {
					p.rule(source)
					continue
				}
				return fmt.Errorf("stopRules with names are those of this engine: write the job by hand")
			}
		default: // of this engine: the same in both dialects
			p.set(m.Name, m.Value)
		}
	}
	return nil
}

// flag writes nextPageFlag, or hasMore if the flag is true while there is more.
func (p *pager) flag(o value.Object) {
	field, _ := value.Text(memberOf(o, "field"))
	stop := memberOf(o, "stopOn") == true
	missing, set := o.Get("ifNotSet")
	ifNotSet := isGiven(missing)
	if !set || missing == nil {
		ifNotSet = stop
	}
	switch {
	case !stop && !ifNotSet:
		p.set("hasMore", keypath.Join(field))
	case strings.Contains(field, "."):
		p.rule(fmt.Sprintf("phpTruthy(%s ?? %t) == %t", keypath.Format("body", []string{field}), ifNotSet, stop))
		return
	default:
		flag := value.ObjectOf("field", field, "stopOn", stop)
		if ifNotSet != stop {
			flag = flag.With("ifNotSet", ifNotSet)
		}
		p.set("nextPageFlag", flag)
	}
	also := "; the extractor counts it as false"
	if ifNotSet {
		also = ", and null as false; the extractor counts the first as false, and the second as missing"
	}
	p.note("nextPageFlag", `An empty text at %s counts as true%s`, field, also)
}

func (p *pager) forceStop(o value.Object) error {
	var out value.Object
	for _, m := range o {
		if !isGiven(m.Value) || !slices.Contains([]string{"pages", "time", "volume"}, m.Name) {
			continue
		}
		n, isNumber := whole(m.Value)
		if text, isText := m.Value.(string); isText && m.Name == "time" {
			n, isNumber = seconds(text)
		}
		if !isNumber {
			return fmt.Errorf("forceStop.%s must be a whole number above 0; it is %s", m.Name, value.Preview(m.Value))
		}
		out = out.With(m.Name, n)
		if m.Name == "volume" {
			p.note("forceStop.volume", "The list ends when the volume reaches the limit, not when it exceeds it, "+
				"and a character that PHP escapes in JSON is counted as one")
		}
	}
	if out != nil {
		p.set("forceStop", out)
	}
	return nil
}

// seconds returns the length that PHP reads in a text such as "10 minutes".
func seconds(text string) (int, bool) {
	strToTime, _ := php.FunctionNamed("strtotime")
	v, err := strToTime.Call([]any{text, 0})
	n, isNumber := whole(v)
	return n, err == nil && isNumber && n <= maxSeconds
}

// maxSeconds is the longest time that counts as a time limit: a year. PHP reads 3600 as a year.
const maxSeconds = 366 * 24 * 60 * 60

func (p *pager) limitStop(o value.Object) error {
	if field := memberOf(o, "field"); isGiven(field) {
		text, _ := value.Text(field)
		p.set("limitStop", value.ObjectOf("field", pathOf(text, ".")))
		p.note("limitStop.field", "A text at %s that is not a number ends the run with an error; the extractor converts it as PHP does", text)
		return nil
	}
	n, isNumber := whole(memberOf(o, "count"))
	if !isNumber {
		return fmt.Errorf("limitStop.count must be a whole number above 0; it is %s", value.Preview(memberOf(o, "count")))
	}
	p.set("limitStop", value.ObjectOf("count", n))
	return nil
}
