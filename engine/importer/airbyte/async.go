package airbyte

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// async reads an AsyncRetriever as three jobs: one creates the report, one polls until it is ready, and
// the stream itself downloads it.
func (t *translation) async(chosen []router, n node) error {
	for _, key := range []string{"url_requester"} {
		if n.get(key).given() {
			return fmt.Errorf("%s: a further request for the addresses of a report (%s) is not translated", n.path, key)
		}
	}
	n.mark("abort_requester", "delete_requester", "polling_job_timeout", "failed_retry_wait_time_in_seconds", "download_paginator", "decoder",
		"download_decoder", "status_mapping", "partition_router", "record_selector")
	t.out.Key = t.primaryKey(t.stream.node.get("primary_key"))
	if err := t.partitions(chosen); err != nil {
		return err
	}
	if err := t.increment(t.cursorNode()); err != nil {
		return err
	}
	create, err := t.creation(n)
	if err != nil {
		return err
	}
	poll, err := t.polling(n, create)
	if err != nil {
		return err
	}
	return t.download(n, poll)
}

// part returns the translation of a hidden job that is a part of the stream.
func (t *translation) part(suffix string) *translation {
	p := *t
	p.out = &importer.Stream{Name: t.stream.name, ID: t.stream.name + "_" + suffix, Place: t.out.Place, Hidden: true}
	p.injected, p.next, p.cursor, p.post, p.form = nil, nil, nil, false, false
	t.translations[p.out] = &p
	return &p
}

// requested reads a request with its credentials and its errors.
func (t *translation) requested(n node) error {
	if n.kind() == "Custom" {
		return custom("requester", n)
	}
	if err := t.request(n); err != nil {
		return err
	}
	if err := t.authenticator(n.get("authenticator")); err != nil {
		return err
	}
	if err := t.errorHandler(n.get("error_handler")); err != nil {
		return err
	}
	return t.take(n)
}

// take adds the parts of the request that only later requests have.
func (t *translation) take(n node) error {
	if len(t.next) > 0 {
		return fmt.Errorf("%s: a template reads the token of a page, but there is no paginator", n.path)
	}
	return nil
}

// creation returns the job that creates the report: once for each slice.
func (t *translation) creation(n node) (*translation, error) {
	c := t.part("create")
	c.injected = t.injected
	c.out.For = t.out.For
	if err := c.requested(n.get("creation_requester")); err != nil {
		return nil, err
	}
	c.cursor = t.cursor
	if err := c.finishIncrement(); err != nil {
		return nil, err
	}
	t.injected, t.cursor, t.out.For = nil, nil, nil
	t.out.Notes = append(t.out.Notes, c.out.Notes...)
	return c, nil
}

// polling returns the job that requests the state of the report until it is ready.
func (t *translation) polling(n node, create *translation) (*translation, error) {
	p := t.part("wait")
	name := p.variable("export")
	p.out.For = []importer.Variable{{Name: name, Parent: create.out}}
	created := jinja.Path(name)
	p.extra = jinja.Scope{"creation_response": created}
	p.slice = maps.Clone(t.slice)
	p.slice["create_job_response"] = created
	if err := p.requested(n.get("polling_requester")); err != nil {
		return nil, err
	}
	status, err := p.statusPath(n.get("status_extractor"))
	if err != nil {
		return nil, err
	}
	state := keypath.Format("body", status)
	n.get("status_mapping").mark("running")
	var failed []string
	for _, key := range []string{"failed", "timeout"} {
		failed = append(failed, p.statuses(n.get("status_mapping").get(key))...)
	}
	ready := p.statuses(n.get("status_mapping").get("completed"))
	if len(ready) == 0 {
		return nil, fmt.Errorf("%s: no status says that the report is ready", n.get("status_mapping").path)
	}
	p.out.Paging = &importer.Paging{Poll: "30s", Stops: []importer.Stop{{When: state + among(ready)}}}
	if len(failed) > 0 {
		p.out.Paging.Stops = append(p.out.Paging.Stops,
			importer.Stop{Name: "failed", When: state + among(failed), Failed: true, Message: "the report has the status {" + state + "}"})
	}
	minutes, isInt := literalOf(n.get("polling_job_timeout").text()).(int)
	if !isInt {
		minutes = 15
	}
	p.out.Paging.Stops = append(p.out.Paging.Stops, importer.Stop{Name: "late", When: fmt.Sprintf("total.seconds > %d", 60*minutes),
		Failed:  true,
		Message: fmt.Sprintf("the report is not ready after %d minutes", minutes)})
	t.note(importer.Approximate, n, "", "a report that failed is not created again, and is asked for every 30 seconds")
	p.out.Filter = ""
	t.ready = keypath.Format("ready", status) + among(ready)
	return p, nil
}

func (t *translation) statuses(n node) []string {
	var out []string
	for _, s := range n.list() {
		out = append(out, jinja.Literal(s.text()).Source)
	}
	return out
}

// among returns the comparison with one or several values.
func among(values []string) string {
	if len(values) == 1 {
		return " == " + values[0]
	}
	return " in [" + strings.Join(values, ", ") + "]"
}

func (t *translation) statusPath(n node) ([]string, error) {
	if kind := n.kind(); kind != "" && kind != "DpathExtractor" {
		return nil, fmt.Errorf("%s: the extractor %s is not translated", n.path, cmp.Or(n.class(), kind))
	}
	var keys []string
	for _, k := range n.get("field_path").list() {
		keys = append(keys, t.plain(k))
	}
	return keys, nil
}

// download reads the job that downloads the report.
func (t *translation) download(n node, poll *translation) error {
	name := t.variable("ready")
	t.out.For = []importer.Variable{{Name: name, Parent: poll.out, When: strings.Replace(t.ready, "ready", name, 1)}}
	ready := jinja.Path(name)
	target := ready
	if extractor := n.get("download_target_extractor"); extractor.given() {
		keys, err := t.statusPath(extractor)
		if err != nil {
			return err
		}
		file := t.variable("file")
		t.out.For = append(t.out.For, importer.Variable{Name: file, Values: importer.Computed("flatten([" + keypath.Format(name, keys) + "])")})
		target = jinja.Name(file, jinja.Text)
	}
	created := jinja.Path(poll.out.For[0].Name)
	t.extra = jinja.Scope{"creation_response": created, "polling_response": ready, "download_target": target}
	t.slice["create_job_response"], t.slice["poll_job_response"], t.slice["url"] = created, ready, target
	if err := t.records(n); err != nil {
		return err
	}
	download := n.get("download_requester")
	if paginator := n.get("download_paginator"); paginator.given() {
		if err := t.pagingOf(paginator); err != nil {
			return err
		}
	}
	if err := t.downloadRequest(download, target); err != nil {
		return err
	}
	return t.finish(n)
}

// downloadRequest reads the request of the download, which may be at any address.
func (t *translation) downloadRequest(n node, target jinja.Expr) error {
	if n.kind() == "Custom" {
		return custom("requester", n)
	}
	if err := t.request(n); err != nil {
		if !strings.Contains(err.Error(), "the address is computed") {
			return err
		}
		t.out.BaseURL = t.translations[t.out.For[0].Parent].out.BaseURL
		t.out.Endpoint = "{+" + target.Source + "}"
		t.out.Origins = []string{"{+" + target.Source + "}"}
	}
	if err := t.authenticator(n.get("authenticator")); err != nil {
		return err
	}
	if poll := t.out.For[0].Parent; t.out.Auth == nil {
		t.out.Auth, t.out.Common = poll.Auth, poll.Common
	}
	return t.errorHandler(n.get("error_handler"))
}

// records reads the items of a download.
func (t *translation) records(n node) error {
	format := n.get("download_decoder")
	if !format.given() {
		format = n.get("decoder")
	}
	if err := t.decoder(format); err != nil {
		return err
	}
	selector := n.get("record_selector")
	selector.mark("extractor", "record_filter", "transform_before_filtering", "schema_normalization")
	extractor := n.get("download_extractor")
	if !extractor.given() {
		extractor = selector.get("extractor")
	}
	switch kind := extractor.kind(); kind {
	case "", "DpathExtractor":
		keys, err := t.statusPath(extractor)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			t.out.Items = keypath.Join(keys...)
		}
	case "ResponseToFileExtractor":
		if len(t.out.Response) == 0 {
			t.format("csv")
		}
	default:
		return fmt.Errorf("%s: the extractor %s is not translated", extractor.path, cmp.Or(extractor.class(), kind))
	}
	return t.transformations(t.stream.node, n)
}
