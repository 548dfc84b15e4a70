package main

import (
	"cmp"
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
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

const formatYAML = "yaml"

// A detectCommand is stopwhen detect.
type detectCommand struct {
	loader
	out     string
	headers []string
	method  string
	data    string
	from    string
	format  string
}

func newDetect(a *app) *cobra.Command {
	d := &detectCommand{loader: loader{app: a}}
	cmd := &cobra.Command{
		Use:   "detect URL",
		Short: "Write a configuration, given the address of a list",
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
		Args: d.checkArguments,
		RunE: d.Run,
	}
	flags := cmd.Flags()
	flags.VarP(listFlag{to: &d.headers}, "header", "H", "`NAME: VALUE` of a header to send; may be repeated")
	flags.Var(listFlag{to: &d.set}, "set", "`NAME=VALUE` for {NAME} in the address; may be repeated")
	flags.StringVar(&d.method, "method", "", "`METHOD` of the request: GET or POST; default: POST with --data, otherwise GET")
	flags.StringVar(&d.data, "data", "", "`BODY` of a POST request, JSON or a form; @FILE reads it from a file, @- from standard input")
	flags.StringVar(&d.from, "from", "", "`FILE` with a recording (HAR), instead of requests")
	flags.StringVar(&d.fixture, "fixture", "", "built-in `CASE` whose API is requested")
	complete(cmd, "fixture", fixtures.Names)
	flags.StringVar(&d.out, "out", "", "`FILE` to write the configuration to; it must not exist; default: standard output")
	flags.BoolVarP(&d.quiet, "quiet", "q", false, "do not describe what was recognized")
	choice(cmd, &d.format, "format", "output `FORMAT`: yaml or json", formatYAML, formatJSON)
	return cmd
}

// checkArguments accepts one address, and no address if a flag has the responses.
func (d *detectCommand) checkArguments(_ *cobra.Command, args []string) error {
	return refuse([]misuse{
		{len(args) > 1, fmt.Sprintf("want one address, got %d arguments; quote an address that has & or ?", len(args))},
		{len(args) == 0 && d.from == "" && d.fixture == "",
			"want an address: https://api.example.com/v1/users, or --from RECORDING, or --fixture CASE"},
		{d.fixture != "" && (len(args) > 0 || d.from != ""), "--fixture has its own address; leave out the other one"},
	})
}

// Run writes a configuration for the API at an address.
func (d *detectCommand) Run(cmd *cobra.Command, args []string) error {
	if err := checkNew(d.out); err != nil {
		return err
	}
	if err := d.checkStdout("the configuration"); err != nil && toStdout(d.out) {
		return err
	}
	if !d.quiet { // at once, since it helps where a request fails
		d.proposeRecipes(cmp.Or(args...))
	}
	ctx, stop := d.catchSignals()
	defer stop()
	result, err := d.detected(ctx, cmd, args)
	if err := interrupted(ctx); err != nil {
		return err
	}
	if mistake, ok := errors.AsType[*detect.RequestError](err); ok {
		mistake.Hint = d.words(mistake.Hint, mistake.Remedy)
		return &usageError{mistake.Error()}
	}
	if result == nil {
		return err
	}
	if result.YAML != nil {
		if failed := d.writeConfig(result); failed != nil {
			return failed
		}
	}
	if !d.quiet { // last, because a terminal shows the end
		d.describe(ctx, result)
	}
	return err
}

// proposeRecipes names the complete configurations of the cookbook for the API at an address.
func (d *detectCommand) proposeRecipes(address string) {
	for _, r := range fixtures.RecipesFor(address) {
		_, _ = fmt.Fprintf(d.stderr, "The cookbook has a complete configuration for %s: stopwhen init --for %s\n", r.API, r.Name)
	}
}

// detected makes the requests, or reads the recording.
func (d *detectCommand) detected(ctx context.Context, cmd *cobra.Command, args []string) (*detect.Result, error) {
	if d.fixture != "" {
		return d.detectFixture(ctx, cmd)
	}
	if d.from != "" {
		if err := noRequestFlags(cmd, "--from makes none"); err != nil {
			return nil, err
		}
		file, err := d.open(d.from)
		if err != nil {
			return nil, &usageError{"--from: " + err.Error()}
		}
		defer file.Close()
		r, err := recording.Read(file)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("--from %s: %v", d.from, err)}
		}
		return detect.FromRecording(ctx, r, cmp.Or(args...))
	}
	request, err := d.request(args[0])
	if err != nil {
		return nil, err
	}
	d.redactor = redact.New(request.Secrets())
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
func (d *detectCommand) detectFixture(ctx context.Context, cmd *cobra.Command) (*detect.Result, error) {
	if err := noRequestFlags(cmd, "--fixture has its own"); err != nil {
		return nil, err
	}
	c, err := fixtures.Find(d.fixture)
	if err != nil {
		return nil, &usageError{"--fixture: " + err.Error()}
	}
	server, err := fixtures.ServeLeniently(c)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	first := server.First()
	request := detect.Request{URL: server.URL() + first.Target, Method: first.Method, Header: http.Header{}}
	for _, h := range first.Headers {
		request.Header.Set(h.Name, h.Value)
	}
	if first.Body != nil {
		request.Body = []byte(*first.Body)
	}
	d.redactor = redact.New(request.Secrets())
	return detect.Detect(ctx, request, detect.Options{})
}

// request returns the request that the command line describes.
func (d *detectCommand) request(address string) (detect.Request, error) {
	r := detect.Request{URL: address, Method: d.method, Header: http.Header{}}
	for _, line := range d.headers {
		name, text, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return r, &usageError{"--header: want 'NAME: VALUE', got " + shownHeader(name, ok)}
		}
		r.Header.Add(name, strings.TrimSpace(text))
	}
	values, err := d.inputs()
	if err != nil {
		return r, err
	}
	r.Inputs = map[string]string{}
	for name, v := range values {
		r.Inputs[name], _ = v.(string)
	}
	r.Body = []byte(d.data)
	if path, isFile := strings.CutPrefix(d.data, "@"); isFile {
		if r.Body, err = d.readText(path); err != nil {
			return r, &usageError{"--data: " + err.Error()}
		}
	}
	return r, nil
}

// shownHeader describes a malformed header for a message. It shows only the name, since other
// texts may hold a secret.
func shownHeader(name string, named bool) string {
	if named && name != "" {
		return fmt.Sprintf("the name %q", name)
	}
	return "a text without a name"
}

// describe writes the findings and the next steps to standard error.
func (d *detectCommand) describe(ctx context.Context, r *detect.Result) {
	w := d.redactor.Writer(d.guard(d.stderr))
	defer w.Close()
	text := r.Text(d.errorColumns())
	if r.YAML != nil {
		text += d.verdict(ctx, r) + "\nNext:\n" + d.nextSteps(r)
	}
	_, _ = io.WriteString(w, printable.Lines(text)+"\n")
}

// verdict describes how the configuration copes with stress. It returns "" if that is not known.
func (d *detectCommand) verdict(ctx context.Context, r *detect.Result) string {
	e, err := engine.Load("detect.yaml", r.YAML, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
	if err != nil {
		return ""
	}
	stressed, err := e.Stress(ctx, stress.Options{WithoutFixes: true})
	if err != nil {
		return ""
	}
	return "\n" + report.StressBrief(stressed, d.errorColumns())
}

// nextSteps are commands for the configuration that was written.
func (d *detectCommand) nextSteps(r *detect.Result) string {
	name, b := d.out, &strings.Builder{}
	if toStdout(name) {
		name = r.Name + "." + d.format
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
func (d *detectCommand) writeConfig(r *detect.Result) error {
	text := r.YAML
	if d.format == formatJSON {
		text = r.JSON
	}
	if toStdout(d.out) {
		return d.writeText(string(text))
	}
	return writeNew(d.out, text)
}

// writeNew writes a file that must not exist.
func writeNew(path string, text []byte) error {
	if err := checkNew(path); err != nil {
		return err
	}
	return files.WriteError(files.Write(path, text, 0o644))
}
