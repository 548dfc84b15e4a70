package airbyte

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules"
)

// async reads an AsyncRetriever as three jobs: one creates the report, one polls until it is ready, and
// the stream itself downloads it.
func (b *builder) async(chosen []router, n node) error {
	for _, key := range []string{"url_requester"} {
		if n.get(key).given() {
			return fmt.Errorf("%s: a further request for the addresses of a report (%s) is not translated", n.path, key)
		}
	}
	n.mark("abort_requester", "delete_requester", "polling_job_timeout", "failed_retry_wait_time_in_seconds", "download_paginator", "decoder",
		"download_decoder", "status_mapping", "partition_router", "record_selector")
	b.out.Key = b.primaryKey(b.stream.node.get("primary_key"))
	if err := b.partitions(chosen); err != nil {
		return err
	}
	if err := b.increment(b.cursorNode()); err != nil {
		return err
	}
	create, err := b.creation(n)
	if err != nil {
		return err
	}
	poll, err := b.polling(n, create)
	if err != nil {
		return err
	}
	return b.download(n, poll)
}

// part returns the builder of a hidden job that is a part of the stream.
func (b *builder) part(suffix string) *builder {
	p := *b
	p.out = &importer.Stream{Name: b.stream.name, ID: b.stream.name + "_" + suffix, Place: b.out.Place, Hidden: true}
	p.injected, p.next, p.cursor, p.post, p.form = nil, nil, nil, false, false
	b.builders[p.out] = &p
	return &p
}

// requested reads a request with its credentials and its errors.
func (b *builder) requested(n node) error {
	if n.kind() == "Custom" {
		return custom("requester", n)
	}
	if err := b.request(n); err != nil {
		return err
	}
	if err := b.authenticator(n.get("authenticator")); err != nil {
		return err
	}
	if err := b.errorHandler(n.get("error_handler")); err != nil {
		return err
	}
	return b.take(n)
}

// take adds the parts of the request that only later requests have.
func (b *builder) take(n node) error {
	if len(b.next) > 0 {
		return fmt.Errorf("%s: a template reads the token of a page, but there is no paginator", n.path)
	}
	return nil
}

// creation returns the job that creates the report: once for each slice.
func (b *builder) creation(n node) (*builder, error) {
	c := b.part("create")
	c.injected = b.injected
	c.out.For = b.out.For
	if err := c.requested(n.get("creation_requester")); err != nil {
		return nil, err
	}
	c.cursor = b.cursor
	if err := c.finishIncrement(); err != nil {
		return nil, err
	}
	b.injected, b.cursor, b.out.For = nil, nil, nil
	b.out.Notes = append(b.out.Notes, c.out.Notes...)
	return c, nil
}

// polling returns the job that requests the state of the report until it is ready.
func (b *builder) polling(n node, create *builder) (*builder, error) {
	p := b.part("wait")
	name := p.variable("export")
	p.out.For = []importer.Variable{{Name: name, Parent: create.out}}
	created := jinja.Path(name)
	p.extra = jinja.Scope{"creation_response": created}
	p.slice = maps.Clone(b.slice)
	p.slice["create_job_response"] = created
	if err := p.requested(n.get("polling_requester")); err != nil {
		return nil, err
	}
	status, err := p.statusPath(n.get("status_extractor"))
	if err != nil {
		return nil, err
	}
	state := rules.FormatPath("body", status)
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
	b.note(importer.Approximate, n, "", "a report that failed is not created again, and is asked for every 30 seconds")
	p.out.Filter = ""
	b.ready = rules.FormatPath("ready", status) + among(ready)
	return p, nil
}

func (b *builder) statuses(n node) []string {
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

func (b *builder) statusPath(n node) ([]string, error) {
	if kind := n.kind(); kind != "" && kind != "DpathExtractor" {
		return nil, fmt.Errorf("%s: the extractor %s is not translated", n.path, cmp.Or(n.class(), kind))
	}
	var keys []string
	for _, k := range n.get("field_path").list() {
		keys = append(keys, b.plain(k))
	}
	return keys, nil
}

// download reads the job that downloads the report.
func (b *builder) download(n node, poll *builder) error {
	name := b.variable("ready")
	b.out.For = []importer.Variable{{Name: name, Parent: poll.out, When: strings.Replace(b.ready, "ready", name, 1)}}
	ready := jinja.Path(name)
	target := ready
	if extractor := n.get("download_target_extractor"); extractor.given() {
		keys, err := b.statusPath(extractor)
		if err != nil {
			return err
		}
		file := b.variable("file")
		b.out.For = append(b.out.For, importer.Variable{Name: file, Values: importer.Computed("flatten([" + rules.FormatPath(name, keys) + "])")})
		target = jinja.Name(file, jinja.Text)
	}
	created := jinja.Path(poll.out.For[0].Name)
	b.extra = jinja.Scope{"creation_response": created, "polling_response": ready, "download_target": target}
	b.slice["create_job_response"], b.slice["poll_job_response"], b.slice["url"] = created, ready, target
	if err := b.records(n); err != nil {
		return err
	}
	download := n.get("download_requester")
	if paginator := n.get("download_paginator"); paginator.given() {
		if err := b.pagingOf(paginator); err != nil {
			return err
		}
	}
	if err := b.downloadRequest(download, target); err != nil {
		return err
	}
	return b.finish(n)
}

// downloadRequest reads the request of the download, which may be at any address.
func (b *builder) downloadRequest(n node, target jinja.Expr) error {
	if n.kind() == "Custom" {
		return custom("requester", n)
	}
	if err := b.request(n); err != nil {
		if !strings.Contains(err.Error(), "the address is computed") {
			return err
		}
		b.out.BaseURL = b.builders[b.out.For[0].Parent].out.BaseURL
		b.out.Endpoint = "{+" + target.Source + "}"
		b.out.Origins = []string{"{+" + target.Source + "}"}
	}
	if err := b.authenticator(n.get("authenticator")); err != nil {
		return err
	}
	if poll := b.out.For[0].Parent; b.out.Auth == nil {
		b.out.Auth, b.out.Common = poll.Auth, poll.Common
	}
	return b.errorHandler(n.get("error_handler"))
}

// records reads the items of a download.
func (b *builder) records(n node) error {
	format := n.get("download_decoder")
	if !format.given() {
		format = n.get("decoder")
	}
	if err := b.decoder(format); err != nil {
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
		keys, err := b.statusPath(extractor)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			b.out.Items = rules.JoinPath(keys...)
		}
	case "ResponseToFileExtractor":
		if len(b.out.Response) == 0 {
			b.format("csv")
		}
	default:
		return fmt.Errorf("%s: the extractor %s is not translated", extractor.path, cmp.Or(extractor.class(), kind))
	}
	return b.transformations(b.stream.node, n)
}
