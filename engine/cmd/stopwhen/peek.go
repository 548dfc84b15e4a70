package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A peekCommand is stopwhen peek.
type peekCommand struct {
	loader
	reporting
	from string
	page int
}

func newPeek(a *app) *cobra.Command {
	c := &peekCommand{loader: loader{app: a}}
	cmd := &cobra.Command{
		Use:   "peek CONFIG",
		Short: "Make one request and show the shape of the response",
		Long: `Request the first page of a job, and show the request, the status, the headers
that rules read, and the paths of the body with their types, counts and a
sample. The paths that rules read and the list of items are marked. Nothing is
written. The first page of a child needs the first page of its parent.

With --page N, the pages before page N are requested, too. With --from, the
pages come from a recording, and no request is made.`,
		Example: `  stopwhen peek users.json --env TOKEN
  stopwhen peek users.json --job orders --page 3
  stopwhen peek users.json --from users.har
  stopwhen peek users.json --format json | jq '.body[] | select(.readBy)'`,
		Args: c.oneConfig,
		RunE: c.Run,
	}
	c.addConfigFlags(cmd)
	c.formatFlag(cmd, formatText, formatJSON)
	f := cmd.Flags()
	f.IntVar(&c.page, "page", 1, "the `NUMBER` of the page to show")
	checked(cmd, "page", func() error { return atLeast(1, c.page, "a number of a page above 0") })
	f.StringVar(&c.from, "from", "", "recording `FILE` of stopwhen record, or any other HAR file, to take the pages from")
	return cmd
}

// Run shows a page.
func (c *peekCommand) Run(_ *cobra.Command, args []string) error {
	if err := onlyOnce("standard input", argument(args), streamUse{"--from", c.from}, streamUse{"--set-file", c.setFile}); err != nil {
		return err
	}
	c.placeholders = c.from != ""
	l, err := c.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Check(); err != nil {
		return err
	}
	ctx, stop := c.catchSignals()
	defer stop()
	report, err := c.peek(ctx, l)
	if err != nil {
		return err
	}
	if c.format == formatJSON {
		err = c.writeJSON(report)
	} else {
		printable.Strings(report)
		err = c.writeTemplate(peekText, nil, c.laidOut(report))
	}
	return errors.Join(err, report.err)
}

// peek requests pages up to the page of the flags.
func (c *peekCommand) peek(ctx context.Context, l *loaded) (*peekReport, error) {
	job := c.firstJob(l)
	page, exchange, err := c.observe(ctx, l, job)
	if stopped := interrupted(ctx); stopped != nil {
		return nil, stopped
	}
	if exchange == nil {
		return nil, err
	}
	report := &peekReport{
		Version: 1, Job: job, Page: c.page, Status: exchange.Status, Type: exchange.ResponseHeader.Get("Content-Type"),
		Bytes: len(exchange.ResponseBody), Request: trace.Request{Method: exchange.Method, URL: exchange.URL}, err: err,
	}
	if err != nil {
		report.Error = err.Error()
	}
	body := exchange.ResponseBody
	if page != nil {
		report.Request, report.Partition, report.Items, report.StoppedBy = page.Request, page.Partition, page.Count, page.StoppedBy
		if !json.Valid(body) { // another format, whose items are JSON
			report.OfItems, body = true, itemList(page.Items)
		}
	}
	readers := workbench.ReadersOf(l.With(engine.WithJobs()).Explain(), job) // children read items, too
	report.Headers = readers.Headers(exchange.ResponseHeader)
	var s shape.Shape
	if json.Valid(body) {
		if err := s.Add(body); err != nil {
			return nil, err
		}
		report.Body = readers.Paths(&s, report.OfItems)
	}
	return report, nil
}

// itemList returns items as a JSON list.
func itemList(items engine.Items) []byte {
	var pieces [][]byte
	for item := range items.All() {
		pieces = append(pieces, bytes.TrimSpace(item))
	}
	return slices.Concat([]byte("["), bytes.Join(pieces, []byte(",")), []byte("]"))
}

// observe runs the engine until a page of a job, and returns the page and its exchange. If the run fails
// or ends before, the page is nil. Then the exchange is the last exchange of the run, or nil if the run made
// no request.
func (c *peekCommand) observe(ctx context.Context, l *loaded, job string) (page *engine.Page, last *recording.Exchange, err error) {
	var archive bytes.Buffer
	options := recording.Options{Redactor: l.Redactor()}
	e := l.With(engine.WithJobs(job), engine.WithKept(l.kept), engine.WithAccept(engine.JobResult.Ended), engine.WithPrefetch(0))
	if c.from != "" {
		tape, err := c.readRecording(c.from)
		if err != nil {
			return nil, nil, err
		}
		player := tape.NewPlayer(l.Redactor())
		e, options.Transport, options.Clock = player.Play(e), player, player
	}
	recorder := recording.NewRecorder(&archive, options)
	e = e.With(engine.WithTransport(recorder))
	page, pages, err := e.PageAt(ctx, job, c.page)
	if err := recorder.Close(); err != nil {
		return nil, nil, err
	}
	if recorder.Len() == 0 {
		return nil, nil, cmp.Or(err, error(&usageError{fmt.Sprintf("job %s makes no request", job)}))
	}
	recorded, readErr := recording.Read(&archive)
	if readErr != nil {
		return nil, nil, readErr
	}
	if page == nil && err == nil {
		err = &usageError{fmt.Sprintf("--page: job %s ends after %s", job, wording.Counted(pages, "page"))}
	}
	return page, &recorded.Exchanges[len(recorded.Exchanges)-1], err
}
