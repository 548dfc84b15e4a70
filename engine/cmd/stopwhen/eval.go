package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An evalCommand is stopwhen eval.
type evalCommand struct {
	loader
	reporting
	from string
	at   trace.Place
}

func newEval(a *app) *cobra.Command {
	c := &evalCommand{loader: loader{app: a}}
	cmd := &cobra.Command{
		Use:   "eval EXPR [CONFIG]",
		Short: "Evaluate an expression on a page",
		Long: `Evaluate an expression as a stopping rule would be evaluated on a page, and show
its value, the values that it read, and which of them the page does not have.
With --item, the expression may read the item, as filter and fields do.

The page comes from --from: a file with a JSON body, or a recording. Without
--from it is read from standard input. With --fixture, the API of a built-in
case answers. Without CONFIG there is no limit, and state has no variables. No
network is used.`,
		Example: `  curl -s https://api.example.com/users | stopwhen eval 'body.next != nil'
  stopwhen eval 'count < limit' users.json --from users.har --page 3
  stopwhen eval 'item.updated_at > "2026"' --from page.json --item 1
  stopwhen eval 'max(map(items, .id))' --fixture demo/orders --format json`,
		Args: arguments(1, 2, "an expression and, optionally, a configuration"),
		RunE: c.Run,
	}
	c.addConfigFlags(cmd)
	c.formatFlag(cmd, formatText, formatJSON)
	f := cmd.Flags()
	f.StringVar(&c.from, "from", "", "`FILE` with the page: a JSON body, or a recording (HAR); - is standard input")
	f.IntVar(&c.at.Page, "page", 1, "the `NUMBER` of the page")
	f.IntVar(&c.at.Item, "item", 0, "the `NUMBER` of an item on the page, from 1")
	checked(cmd, "page", func() error { return atLeast(1, c.at.Page, "a number of a page above 0") })
	checked(cmd, "item", func() error { return atLeast(1, c.at.Item, "a number of an item above 0") })
	return cmd
}

// An evalReport is the result of stopwhen eval.
type evalReport struct {
	Version int    `json:"version"` // keys may be added to a version
	Job     string `json:"job,omitempty"`
	Page    int    `json:"page"`
	Item    int    `json:"item,omitempty"`
	*trace.Evaluation
}

// evalText is the template of a report.
//
//go:embed eval.txt
var evalText string

// Run evaluates an expression.
func (c *evalCommand) Run(_ *cobra.Command, args []string) error {
	expression, config := args[0], args[1:]
	if err := refuse([]misuse{
		{c.from != "" && c.fixture != "", "--from and --fixture cannot both give the page"},
	}); err != nil {
		return err
	}
	if c.fixture == "" {
		c.from = cmp.Or(c.from, "-")
	}
	if err := onlyOnce("standard input", argument(config), streamUse{"the page", c.from}, streamUse{"--set-file", c.setFile}); err != nil {
		return err
	}
	c.placeholders = true
	l, err := c.pages(config)
	if err != nil {
		return err
	}
	defer l.Close()
	c.at.Job = c.firstJob(l)
	ctx, stop := c.catchSignals()
	defer stop()
	result, err := l.Evaluate(ctx, expression, c.at)
	if err := cmp.Or(interrupted(ctx), err); err != nil {
		return err
	}
	return c.write(result)
}

// write writes a result. The error is the error of the evaluation, or of writing.
func (c *evalCommand) write(result *trace.Evaluation) error {
	report := &evalReport{Version: 1, Job: c.at.Job, Page: c.at.Page, Item: c.at.Item, Evaluation: result}
	switch {
	case errors.Is(result.Err, trace.ErrNoItem):
		return &usageError{result.Err.Error() + "; --item N chooses one"}
	case result.Err != nil:
		return &engine.Error{Class: failure.Response, Op: "eval", Message: result.Err.Error(), Err: result.Err}
	}
	if c.format == formatJSON {
		return c.writeJSON(report)
	}
	text, err := json.MarshalIndent(result.Value, "", "  ")
	if err != nil {
		return err
	}
	if result.Value == nil {
		text = []byte("nil")
	}
	printable.Strings(report)
	return c.writeTemplate(evalText, nil, struct {
		*evalReport
		Text string
	}{report, string(text)})
}

// pages loads the configuration, and lets the flags answer its requests.
func (c *evalCommand) pages(config []string) (*loaded, error) {
	if c.fixture != "" {
		return c.load(config)
	}
	text, err := readInput(c.app, "page", c.from, func(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxPageFile+1)) })
	if err != nil {
		return nil, err
	}
	if len(text) > maxPageFile {
		return nil, &usageError{fmt.Sprintf("%s has more than %d bytes", c.from, maxPageFile)}
	}
	tape, harErr := recording.Read(bytes.NewReader(text))
	if harErr != nil && !json.Valid(text) {
		return nil, &usageError{c.from + ": want a JSON body or a recording"}
	}
	l, err := c.loadOr(config)
	if err != nil {
		return nil, err
	}
	switch {
	case harErr != nil:
		if c.at.Page > 1 {
			return nil, &usageError{fmt.Sprintf("--page: %s has one page", c.from)}
		}
		page := pageTransport(recording.Exchange{Status: http.StatusOK, ResponseBody: text})
		l.Engine = l.With(engine.WithTransport(page), engine.WithoutTokenRequests())
	case len(config) > 0:
		l.Engine = tape.NewPlayer(l.Redactor()).Play(l.Engine)
	case c.at.Page > len(tape.Exchanges):
		return nil, &usageError{fmt.Sprintf("--page: %s has %d pages", c.from, len(tape.Exchanges))}
	default:
		x := tape.Exchanges[c.at.Page-1]
		if x.Error != "" {
			message := fmt.Sprintf("response %d of %s is incomplete: %s", c.at.Page, c.from, x.Error)
			return nil, &engine.Error{Class: failure.Response, Message: message}
		}
		l.Engine = l.With(engine.WithTransport(pageTransport(x)))
		c.at.Page = 1
	}
	return l, nil
}

// maxPageFile is the size of the largest file with a page, in bytes.
const maxPageFile = 256 << 20

// noConfig is the configuration for a page that is given without a configuration.
const noConfig = `{"api": {"baseUrl": "http://page.invalid/"}, "config": {"jobs": [{"id": "page", "endpoint": "page"}]}}`

// loadOr loads the configuration that the arguments name, or noConfig.
func (c *evalCommand) loadOr(config []string) (*loaded, error) {
	if len(config) > 0 {
		return c.load(config)
	}
	l := &loaded{name: "page", text: []byte(noConfig)}
	return l, c.compile(l)
}

// pageTransport answers every request with one response.
type pageTransport recording.Exchange

// RoundTrip implements [http.RoundTripper].
func (x pageTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	header := x.ResponseHeader.Clone()
	if header == nil {
		header = http.Header{"Content-Type": {"application/json"}}
	}
	return &http.Response{
		StatusCode: x.Status, ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: req,
		Body: io.NopCloser(bytes.NewReader(x.ResponseBody)), ContentLength: int64(len(x.ResponseBody)),
	}, nil
}
