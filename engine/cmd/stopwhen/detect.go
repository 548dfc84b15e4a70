package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/detect/detecttest"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

const formatYAML = "yaml"

// A detectCommand is stopwhen detect.
type detectCommand struct {
	source
	out     string
	headers []string
	method  string
	data    string
	from    string
	format  string
}

func newDetect(p *app) *cobra.Command {
	a := &detectCommand{source: source{app: p}}
	cmd := &cobra.Command{
		Use:   "detect URL",
		Short: "Write a configuration for an API of which only an address is known",
		Long: fmt.Sprintf(`Request a page of a list, recognize how the API pages, and write a
configuration. At most %d requests are made: the page, a second one that proves
what was recognized, and a third one where a doubt remains. What could not be
proved is stated as a doubt, in the configuration and on standard error.

Credentials given with --header, or in the address, are sent, but not written:
the configuration has the names of environment variables in their places. An
address may hold names in braces, which become inputs; --set gives their values.

With --from, a recording is read instead, and no request is made: a HAR file
that the developer tools of a browser saved, or one of stopwhen record. URL is
then the beginning of the address of the list, if the recording has several.`, detect.MaxRequests),
		Example: `  stopwhen detect 'https://api.example.com/v1/users?limit=100' > users.yaml
  stopwhen detect https://api.example.com/users -H 'Authorization: Bearer TOKEN'
  stopwhen detect 'https://{tenant}.example.com/users' --set tenant=acme
  stopwhen detect https://api.example.com/graphql --data @query.json
  stopwhen detect --from session.har --out users.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			return checkDetectArguments(args, a.from, a.fixture)
		},
		RunE: a.Run,
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&a.headers, "header", "H", nil, "`NAME: VALUE` of a header to send; may be repeated")
	flags.StringArrayVar(&a.set, "set", nil, "`NAME=VALUE` for {NAME} in the address; may be repeated")
	flags.StringVar(&a.method, "method", "", "`METHOD` of the request: GET or POST; default: POST with --data, otherwise GET")
	flags.StringVar(&a.data, "data", "", "`BODY` of a POST request, JSON or a form; @FILE reads it from a file, @- from standard input")
	flags.StringVar(&a.from, "from", "", "`FILE` with a recording (HAR), instead of requests")
	flags.StringVar(&a.fixture, "fixture", "", "built-in `CASE` whose API is requested")
	complete(cmd, "fixture", caseNames)
	flags.StringVar(&a.out, "out", "", "`FILE` to write the configuration to; it must not exist; default: standard output")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "do not describe what was recognized")
	choice(cmd, &a.format, "format", "output `FORMAT`: yaml or json", formatYAML, formatJSON)
	return cmd
}

func checkDetectArguments(args []string, from, fixture string) error {
	switch {
	case len(args) > 1:
		return &usageError{fmt.Sprintf("want one address, got %d arguments; quote an address that has & or ?", len(args))}
	case len(args) == 0 && from == "" && fixture == "":
		return &usageError{"want an address: https://api.example.com/v1/users, or --from RECORDING, or --fixture CASE"}
	case fixture != "" && (len(args) > 0 || from != ""):
		return &usageError{"--fixture has its own address; leave out the other one"}
	}
	return nil
}

// Run writes a configuration for the API at an address.
func (a *detectCommand) Run(cmd *cobra.Command, args []string) error {
	if err := checkNew(a.out); err != nil {
		return err
	}
	if err := a.checkStdout("the configuration", false); err != nil && toStdout(a.out) {
		return err
	}
	ctx, stop := a.catchSignals()
	defer stop()
	result, err := a.detected(ctx, cmd, args)
	if err := interrupted(ctx); err != nil {
		return err
	}
	if mistake, ok := errors.AsType[*detect.RequestError](err); ok {
		return &usageError{mistake.Error()}
	}
	if result == nil {
		return err
	}
	if result.YAML != nil {
		if failed := a.writeConfig(result); failed != nil {
			return failed
		}
	}
	if !a.quiet { // last, so that it is what a terminal shows
		a.describe(ctx, result)
	}
	return err
}

// detected makes the requests, or reads the recording.
func (a *detectCommand) detected(ctx context.Context, cmd *cobra.Command, args []string) (*detect.Result, error) {
	if a.fixture != "" {
		return a.detectFixture(ctx, cmd)
	}
	if a.from != "" {
		if err := noRequestFlags(cmd, "--from makes none"); err != nil {
			return nil, err
		}
		file, err := a.open(a.from)
		if err != nil {
			return nil, &usageError{"--from: " + err.Error()}
		}
		defer file.Close()
		r, err := recording.Read(file)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("--from %s: %v", a.from, err)}
		}
		address := ""
		if len(args) > 0 {
			address = args[0]
		}
		return detect.FromRecording(ctx, r, address)
	}
	request, err := a.request(args[0])
	if err != nil {
		return nil, err
	}
	a.redactor = redact.New(request.Secrets())
	return detect.Detect(ctx, request, detect.Options{UserAgent: "stopwhen/" + strings.Fields(version())[0]})
}

// noRequestFlags refuses the flags that change a request.
func noRequestFlags(cmd *cobra.Command, why string) error {
	for _, name := range []string{"header", "set", "method", "data"} {
		if cmd.Flags().Changed(name) {
			return &usageError{"--" + name + " changes the request, but " + why + "; leave one of them out"}
		}
	}
	return nil
}

// detectFixture requests the API of a built-in case.
func (a *detectCommand) detectFixture(ctx context.Context, cmd *cobra.Command) (*detect.Result, error) {
	if err := noRequestFlags(cmd, "--fixture has its own"); err != nil {
		return nil, err
	}
	c, err := fixtures.Find(a.fixture)
	if err != nil {
		return nil, &usageError{"--fixture: " + err.Error()}
	}
	server, err := fixtures.ServeLeniently(c)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	request, _ := detecttest.RequestOf(server)
	a.redactor = redact.New(request.Secrets())
	return detect.Detect(ctx, request, detect.Options{})
}

// request returns the request that the command line describes.
func (a *detectCommand) request(address string) (detect.Request, error) {
	r := detect.Request{URL: address, Method: a.method, Header: http.Header{}}
	for _, line := range a.headers {
		name, text, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return r, &usageError{"--header: want 'NAME: VALUE', got " + shownHeader(name, ok)}
		}
		r.Header.Add(name, strings.TrimSpace(text))
	}
	values, err := a.inputs()
	if err != nil {
		return r, err
	}
	r.Inputs = map[string]string{}
	for name, v := range values {
		r.Inputs[name], _ = v.(string)
	}
	r.Body = []byte(a.data)
	if path, isFile := strings.CutPrefix(a.data, "@"); isFile {
		file, err := a.open(path)
		if err != nil {
			return r, &usageError{"--data: " + err.Error()}
		}
		defer file.Close()
		if r.Body, err = io.ReadAll(io.LimitReader(file, rules.MaxConfigBytes)); err != nil {
			return r, &usageError{"--data: " + err.Error()}
		}
	}
	return r, nil
}

// shownHeader returns what a message shows of a malformed header: its name, if it has
// one, since other texts may hold a secret.
func shownHeader(name string, named bool) string {
	if named && name != "" {
		return fmt.Sprintf("the name %q", name)
	}
	return "a text without a name"
}

// describe writes what was recognized, and what to do next, to standard error.
func (a *detectCommand) describe(ctx context.Context, r *detect.Result) {
	w := a.redactor.Writer(a.guard(a.stderr))
	defer w.Close()
	text := r.Text(a.errorColumns())
	if r.YAML != nil {
		text += a.verdict(ctx, r) + "\nNext:\n" + a.nextSteps(r)
	}
	_, _ = io.WriteString(w, printable.Lines(text)+"\n")
}

// verdict describes how the configuration fares under stress; empty if that is not known.
func (a *detectCommand) verdict(ctx context.Context, r *detect.Result) string {
	e, err := engine.Load("detect.yaml", r.YAML, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
	if err != nil {
		return ""
	}
	report, err := e.Stress(ctx, stress.Options{WithoutFixes: true})
	if err != nil {
		return ""
	}
	return "\n" + report.Brief(a.errorColumns())
}

// nextSteps are commands for the configuration that was written.
func (a *detectCommand) nextSteps(r *detect.Result) string {
	name, b := a.out, &strings.Builder{}
	if toStdout(name) {
		name = r.Name + "." + a.format
		fmt.Fprintf(b, "  save it, for example as %s\n", name)
	}
	if _, tested := r.Config.Get("tests"); tested {
		fmt.Fprintf(b, "  stopwhen test %s\n", name)
	}
	options := &strings.Builder{}
	if len(r.Env) > 0 {
		for _, name := range r.Env {
			fmt.Fprintf(b, "  export %s=…\n", name)
		}
		options.WriteString(" --env " + strings.Join(r.Env, ","))
	}
	for _, input := range r.Inputs {
		options.WriteString(" --set " + input + "=VALUE")
	}
	fmt.Fprintf(b, "  stopwhen stress %s\n", name)
	fmt.Fprintf(b, "  stopwhen run %s%s --max-pages 3\n", name, options)
	return b.String()
}

// errorColumns is the width of standard error.
func (a *app) errorColumns() int {
	const usual, narrow, widest = 80, 30, 100
	if width := widthOf(a.stderr); width >= narrow {
		return min(width, widest)
	}
	return usual
}

func toStdout(path string) bool { return path == "" || path == "-" }

// checkNew refuses to overwrite a file.
func checkNew(path string) error {
	if toStdout(path) {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return &usageError{path + " exists; name another file, or remove it first"}
	}
	return nil
}

// writeConfig writes the configuration to --out or to standard output.
func (a *detectCommand) writeConfig(r *detect.Result) error {
	text := r.YAML
	if a.format == formatJSON {
		text = r.JSON
	}
	if toStdout(a.out) {
		return a.writeText(string(text))
	}
	return writeNew(a.out, text)
}

// writeNew writes a file that must not exist.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return checkNew(path)
	}
	if err != nil {
		return outputError(err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Close())
	if err != nil {
		_ = os.Remove(path)
	}
	return outputError(err)
}
