package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// version is the version of the file.
const version = 1

// Read reads the contract in a file. It returns nil if there is no such file. A file that holds
// something else, or that is damaged, is an error of class config with the place of the mistake.
func Read(path string) (*Contract, error) {
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &engine.Error{Class: failure.Config, Op: "contract", Message: fmt.Sprintf("cannot read the contract: %v", err), Err: err}
	}
	c, err := Parse(path, text)
	if err == nil {
		return c, nil
	}
	return nil, &engine.Error{
		Class: failure.Config, Op: "contract", Message: fmt.Sprintf("%s is not a contract, or is damaged: %s", path, first(err)),
		Hint: "repair it, restore it from a backup, or move it away: then the next run writes a new one",
	}
}

// first describes the first of the mistakes in a file, in one line.
func first(err error) string {
	found, ok := errors.AsType[diag.Diagnostics](err)
	if !ok || len(found) == 0 {
		return err.Error()
	}
	d := found[0]
	text := d.Message
	if d.Path != "" {
		text = d.Path + ": " + text
	}
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text + ", at " + d.Location()
}

func read(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && (info.Size() > rules.MaxConfigBytes || !info.Mode().IsRegular()) {
		return "", fmt.Errorf("%s is not a file of at most %d bytes", path, rules.MaxConfigBytes)
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// Parse reads the text of a contract. name is the name of its file, for errors, which are
// [engine.Diagnostics].
func Parse(name, text string) (*Contract, error) {
	source := diag.NewSource(name, text)
	v, err := rules.ParseJSON(source)
	if err != nil {
		return nil, err
	}
	p := parser{found: diag.NewCollector(source)}
	c := p.contract(v)
	found := p.found.Diagnostics()
	found.Sort()
	return c, found.Err()
}

type parser struct{ found *diag.Collector }

func (p *parser) contract(v any) *Contract {
	c := &Contract{outputs: map[string]*shape.Shape{}, pages: map[string]*pages{}}
	root, ok := value.Members(v)
	if !ok {
		p.found.Errorf(diag.Value(""), "want an object with version, outputs and pages, got %s", value.KindOf(v))
		return c
	}
	if got, _ := root.Get("version"); got != version {
		p.found.Errorf(diag.Value("version"), "want version %d, got %s", version, value.Preview(got))
		return c
	}
	p.reportUnknown(root, "", "version", "outputs", "pages")
	for name, element := range p.object(root, "outputs") {
		c.outputs[name] = shape.Decode(element, diag.Join("outputs", name), p.found)
	}
	for job, element := range p.object(root, "pages") {
		c.pages[job] = p.pages(element, diag.Join("pages", job))
	}
	return c
}

// object iterates over the members of an object of the root.
func (p *parser) object(root value.Object, key string) func(func(string, any) bool) {
	v, written := root.Get(key)
	members, ok := value.Members(v)
	if !ok && written {
		p.found.Errorf(diag.Value(key), "want an object, got %s", value.KindOf(v))
	}
	return func(yield func(string, any) bool) {
		for _, m := range members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// reportUnknown reports unknown keys.
func (p *parser) reportUnknown(o value.Object, path string, keys ...string) {
	for _, m := range o {
		if !slices.Contains(keys, m.Name) {
			p.found.Errorf(diag.Key(diag.Join(path, m.Name)), "unknown key %q", m.Name).WithNearest(m.Name, keys)
		}
	}
}

// sizeVaries is written in place of the size of pages that have several.
const sizeVaries = "varies"

func (p *parser) pages(v any, path string) *pages {
	merged := &pages{}
	object, ok := value.Members(v)
	if !ok {
		p.found.Errorf(diag.Value(path), "want an object with size and signs, got %s", value.KindOf(v))
		return merged
	}
	p.reportUnknown(object, path, "size", "full", "latest", "signs")
	size, written := object.Get("size")
	switch n, isNumber := size.(int); {
	case !written:
	case size == sizeVaries:
		merged.varies, merged.full = true, 2
	case !isNumber || n < 1:
		p.found.Errorf(diag.Value(diag.Join(path, "size")), "want a number of items or %q, got %s", sizeVaries, value.Preview(size))
	default:
		merged.size, merged.full = n, 2
	}
	number := func(key string, n *int) {
		if v, written := object.Get(key); written {
			if is, ok := v.(int); ok && is > 0 {
				*n = is
				return
			}
			p.found.Errorf(diag.Value(diag.Join(path, key)), "want a number above 0, got %s", value.Preview(v))
		}
	}
	number("full", &merged.full)
	number("latest", &merged.latest)
	if signs, written := object.Get("signs"); written {
		merged.signs = *shape.Decode(signs, diag.Join(path, "signs"), p.found)
	}
	return merged
}

// Write replaces the file of the contract. After a crash it holds the old content or the new one.
func (c *Contract) Write(path string) error {
	text := c.Text()
	err := fmt.Errorf("it would have more than %d bytes", rules.MaxConfigBytes)
	if len(text) <= rules.MaxConfigBytes {
		err = files.Write(path, text, 0o666)
	}
	if err == nil {
		return nil
	}
	return &engine.Error{Class: failure.IO, Op: "contract", Message: fmt.Sprintf("cannot write the contract %s: %v", path, err), Err: err}
}

// Text returns the text of the file: a line for each member of the items.
func (c *Contract) Text() []byte { return c.text(false) }

// State returns the text of a contract to which a run that continues this run adds its data: [Parse] reads
// it. Besides [Contract.Text], it has what is not known about the sizes of pages yet.
func (c *Contract) State() []byte { return c.text(true) }

func (c *Contract) text(continues bool) []byte {
	outputs, jobs := value.Object{}, value.Object{}
	for _, name := range c.Outputs() {
		outputs = outputs.With(name, c.outputs[name].Encoded())
	}
	for _, job := range c.Jobs() {
		object, p := value.Object{}, c.pages[job]
		if p.varies {
			object = object.With("size", sizeVaries)
		} else if size := p.known(); size > 0 {
			object = object.With("size", size)
		} else if continues && p.full > 0 {
			object = object.With("size", p.size).With("full", p.full)
		}
		if continues && p.latest > 0 {
			object = object.With("latest", p.latest)
		}
		if p.signs.Objects > 0 {
			object = object.With("signs", p.signs.Encoded())
		}
		if len(object) > 0 {
			jobs = jobs.With(job, object)
		}
	}
	root := value.ObjectOf("version", version, "outputs", outputs)
	if len(jobs) > 0 {
		root = root.With("pages", jobs)
	}
	var b strings.Builder
	layOut(&b, root, 0)
	return []byte(b.String() + "\n")
}

// layOut writes an object with a line for each member, unless no member is an object.
func layOut(b *strings.Builder, o value.Object, depth int) {
	isNested := func(m value.Member) bool { _, ok := value.Members(m.Value); return ok }
	nested := slices.ContainsFunc(o, isNested)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if nested {
			b.WriteString("\n" + strings.Repeat("  ", depth+1))
		} else if i > 0 {
			b.WriteByte(' ')
		}
		name, _ := value.Marshal(m.Name)
		b.Write(append(name, ": "...))
		if inner, ok := value.Members(m.Value); ok {
			layOut(b, inner, depth+1)
			continue
		}
		text, _ := value.Marshal(m.Value)
		b.Write(text)
	}
	if nested {
		b.WriteString("\n" + strings.Repeat("  ", depth))
	}
	b.WriteByte('}')
}

// Schema returns a JSON Schema (2020-12) of the items of an output. Without a name, it is the schema of all
// items.
func (c *Contract) Schema(output string) (value.Object, error) {
	names := c.Outputs()
	if len(names) == 0 {
		return nil, errors.New("the contract has no output")
	}
	if output == "" && len(names) == 1 {
		output = names[0]
	}
	root := value.ObjectOf("$schema", "https://json-schema.org/draft/2020-12/schema")
	if output != "" {
		s := c.outputs[output]
		if s == nil {
			hint := diag.DidYouMean(output, names)
			if hint == "" {
				hint = "the outputs are " + strings.Join(names, ", ")
			}
			return nil, fmt.Errorf("the contract has no output %q; %s", output, hint)
		}
		return append(root.With("title", output), s.Schema()...), nil
	}
	definitions, choices := value.Object{}, []any{}
	for _, name := range names {
		definitions = definitions.With(name, append(value.ObjectOf("title", name), c.outputs[name].Schema()...))
		choices = append(choices, value.ObjectOf("$ref", "#/$defs/"+url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))))
	}
	return root.With("anyOf", choices).With("$defs", definitions), nil
}
