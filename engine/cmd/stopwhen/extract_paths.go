package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// checkPaths checks the files that a run reads and writes, before it opens any of them
// for writing and before the first request: every file has one purpose, no configuration
// would be overwritten, and every output can be written. read names further files that are read.
func (x *extraction) checkPaths(l *loaded, read ...streamUse) error {
	x.nameStandardStreams()
	if err := x.nameKeptFile(); err != nil {
		return err
	}
	if err := x.checkStandardStreams(); err != nil {
		return err
	}
	if err := x.checkOut(); err != nil {
		return err
	}
	if err := x.checkFormatOfItems(l); err != nil {
		return err
	}
	if err := x.checkPurposes(l, read); err != nil {
		return err
	}
	return x.checkWritable(l)
}

// nameStandardStreams replaces other names of standard output, such as /dev/stdout, by
// "-".
func (x *extraction) nameStandardStreams() {
	for _, path := range []*string{&x.out, &x.trace, &x.result, &x.record} {
		if *path != "" && x.isStdout(*path) {
			*path = "-"
		}
	}
}

// nameKeptFile sets the path of the file of kept values, without symbolic links.
func (x *extraction) nameKeptFile() error {
	if x.kept == "" {
		return nil
	}
	file, err := resolve(x.kept)
	if err != nil {
		file = x.kept
	}
	x.keptPath, err = filepath.Abs(file)
	return files.WriteError(err)
}

// isStdout reports whether a path names standard output, or the regular file that it is
// redirected to.
func (x *extraction) isStdout(path string) bool {
	if slices.Contains([]string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, filepath.Clean(path)) {
		return true
	}
	stdout, ok := x.stdout.(*os.File)
	if !ok {
		return false
	}
	named, err := os.Stat(path)
	if err != nil || !named.Mode().IsRegular() {
		return false
	}
	own, err := stdout.Stat()
	return err == nil && os.SameFile(named, own)
}

// checkStandardStreams checks that standard output has one purpose, and that it is open for
// writing.
func (x *extraction) checkStandardStreams() error {
	items := streamUse{"the items", x.out}
	switch {
	case x.writesNowhere():
		items.path = ""
	case toStdout(x.out):
		items.path = "-"
	}
	var uses []streamUse
	for _, u := range x.outputs() {
		uses = append(uses, streamUse{u.name + " -", u.path})
	}
	uses = append(uses, items)
	if err := onlyOnce("standard output", uses...); err != nil {
		return err
	}
	i := slices.IndexFunc(uses, streamUse.standard)
	switch {
	case i < 0:
		return nil
	case x.state != "" || x.kept != "":
		return x.requireStdout()
	}
	return x.checkStdout(uses[i].name)
}

// A streamUse is a flag or an argument that may name standard input or output.
type streamUse struct{ name, path string }

func (u streamUse) standard() bool { return u.path == "-" }

// requireFile refuses standard output, pipes and devices for a file that is read and replaced.
func (u streamUse) requireFile() error {
	kind := "a pipe or a device"
	switch {
	case u.standard():
		kind = "standard output"
	case u.path == "" || !files.IsStream(u.path):
		return nil
	}
	return &usageError{fmt.Sprintf("%s is read and replaced, so it needs a file, and %s is %s", u.name, u.path, kind)}
}

// outputs returns the flags that name the files of a run, except the files of the items.
func (x *extraction) outputs() []streamUse {
	return []streamUse{{"--trace", x.trace}, {"--result", x.result}, {"--record", x.record}}
}

// records returns the flags whose files appear when the run has succeeded.
func (x *extraction) records() []streamUse {
	return slices.DeleteFunc(x.outputs(), func(u streamUse) bool {
		return u.name == "--result" || u.path == "" || u.path == "-" || files.IsStream(u.path)
	})
}

// argument returns the use of the configuration.
func argument(args []string) streamUse {
	if len(args) == 0 {
		return streamUse{}
	}
	return streamUse{"the configuration", args[0]}
}

// onlyOnce checks that at most one flag or argument names a standard stream.
func onlyOnce(stream string, uses ...streamUse) error {
	var found []string
	for _, u := range uses {
		if u.standard() {
			found = append(found, u.name)
		}
	}
	if len(found) < 2 {
		return nil
	}
	message := fmt.Sprintf("%s and %s cannot both use %s", found[0], found[1], stream)
	if found[1] == "the items" {
		message += "; write the items to a directory with --out DIR"
	}
	return &usageError{message}
}

// dataEndings are file extensions that a directory is unlikely to have.
var dataEndings = []string{
	".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".xml", ".yaml", ".yml", ".gz", ".zst", ".zip", ".parquet", ".har",
}

// checkOut checks that --out names a directory.
func (x *extraction) checkOut() error {
	out := x.out
	if !x.writesFiles() {
		if x.appendRows {
			return &usageError{"--append requires --out DIR: it adds rows to files"}
		}
		if x.merge {
			return &usageError{"--merge requires --out DIR: it replaces rows in files"}
		}
		return nil
	}
	if _, err := os.Stat(out); err == nil || !slices.Contains(dataEndings, strings.ToLower(filepath.Ext(out))) {
		return nil
	}
	return &usageError{fmt.Sprintf("--out %s: want a directory, in which every dataType has its file; "+
		"use --out %s, or redirect standard output to %s", out, strings.TrimSuffix(out, filepath.Ext(out)), out)}
}

// A purpose is the use of a file.
type purpose struct {
	flag    string // "--trace", "the configuration"
	path    string
	info    os.FileInfo // nil if the file does not exist
	written bool        // whether the run writes the file
}

// checkPurposes checks that no file has two purposes, even under different names, and that no
// configuration is overwritten.
func (x *extraction) checkPurposes(l *loaded, read []streamUse) error {
	list, err := x.collectPurposes(l, read)
	if err != nil {
		return err
	}
	byFile := map[string]purpose{}
	for i, p := range list {
		file := fileOf(p.path)
		if other, used := byFile[file]; used {
			return sameFile(other, p)
		}
		byFile[file] = p
		for _, other := range list[:i] {
			if os.SameFile(other.info, p.info) {
				return sameFile(other, p)
			}
		}
	}
	for _, p := range list {
		if p.written {
			if err := files.RefuseDirectory(p.path); err != nil {
				return err
			}
		}
	}
	return x.checkOverwritten()
}

// fileOf returns the absolute path of the file that a path names, without symbolic links. Neither the file nor
// its directory need exist: the run creates that of --out.
func fileOf(path string) string {
	file, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if resolved, err := resolve(file); err == nil || filepath.Dir(file) == file {
		return cmp.Or(resolved, file)
	}
	return filepath.Join(fileOf(filepath.Dir(file)), filepath.Base(file))
}

func sameFile(a, b purpose) error {
	if a.path == b.path {
		return &usageError{fmt.Sprintf("%s and %s name the same file, %s", a.flag, b.flag, a.path)}
	}
	return &usageError{fmt.Sprintf("%s and %s name the same file, %s and %s", a.flag, b.flag, a.path, b.path)}
}

// purposes are the files that a run uses, except pipes and devices.
type purposes []purpose

// read adds the file that a flag reads.
func (list *purposes) read(flag, path string) { list.add(purpose{flag: flag, path: path}) }

// write adds the files that a flag writes.
func (list *purposes) write(flag string, paths ...string) {
	for _, path := range paths {
		list.add(purpose{flag: flag, path: path, written: true})
	}
}

func (list *purposes) add(p purpose) {
	if p.path == "" || p.path == "-" || files.IsStream(p.path) {
		return
	}
	p.info, _ = os.Stat(p.path)
	*list = append(*list, p)
}

// collectPurposes returns the purposes of all files.
func (x *extraction) collectPurposes(l *loaded, read []streamUse) (list purposes, err error) {
	for _, u := range append(read, streamUse{"--set-file", x.setFile}, streamUse{"--env-file", x.envFile}) {
		list.read(u.name, u.path)
	}
	if strings.HasSuffix(x.fixture, ".txtar") {
		list.read("--fixture", x.fixture)
	}
	for _, u := range []streamUse{{"--tokens", x.tokens}, {"--kept", x.kept}, {"--state", x.state}, {"--contract", x.contract}} {
		if err := u.requireFile(); err != nil {
			return nil, err
		}
	}
	if x.contract != "" {
		list.write("--contract", x.contract, x.contract+lockSuffix)
	}
	if x.kept != "" {
		list.write("--kept", x.kept, x.kept+lockSuffix, x.kept+checkpoint.RedoSuffix)
	}
	if x.state != "" {
		list.write("--state", x.state, x.state+lockSuffix)
	}
	if path := x.tokensPath(); path != "" { // also if the configuration has no token yet
		list.write("--tokens", path, path+lockSuffix)
	}
	list.read("--singer-catalog", x.catalog)
	for _, u := range x.outputs() {
		list.write(u.name, u.path)
	}
	for _, u := range x.records() {
		list.write(u.name, u.path+checkpoint.PartialSuffix)
	}
	err = x.addItems(l, &list)
	return list, err
}

// addItems adds the files of the items, and the files next to them.
func (x *extraction) addItems(l *loaded, list *purposes) error {
	if !x.writesFiles() {
		return nil
	}
	for _, f := range output.Destinations(l.Engine, x.out, x.items.Format) {
		if err := f.Check(); err != nil {
			return err
		}
		for _, path := range []string{f.Path, f.Path + checkpoint.PartialSuffix} {
			if target, ok := linkTarget(path); ok && !files.IsStream(path) {
				return &usageError{fmt.Sprintf("--out: %s is a symbolic link to %s; "+
					"rows appear by a rename, which would replace the link: "+
					"remove it, or use the directory of the file", path, target)}
			}
		}
		list.write("--out", f.Path, f.Path+checkpoint.PartialSuffix, f.Path+checkpoint.RedoSuffix,
			f.Path+checkpoint.CompleteSuffix, f.Path+lockSuffix)
	}
	return nil
}

// linkTarget returns the path that a symbolic link points to.
func linkTarget(path string) (string, bool) {
	target, err := os.Readlink(path)
	if err != nil {
		return "", false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return target, true
}

// checkOverwritten refuses to replace a configuration by a trace, a recording or a
// result: two arguments that were swapped must not cost a file that somebody wrote.
func (x *extraction) checkOverwritten() error {
	for _, u := range x.outputs() {
		if !toStdout(u.path) && isConfig(u.path) {
			return &usageError{fmt.Sprintf("%s: %s is a configuration, which would be overwritten; name another file", u.name, u.path)}
		}
	}
	return nil
}

// isConfig reports whether a file holds a configuration.
func isConfig(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > rules.MaxConfigBytes {
		return false
	}
	text, err := rules.ReadConfigFile(path)
	if err != nil {
		return false
	}
	root, err := yaml.Parse(diag.NewSource(path, string(text)))
	if err != nil {
		return false
	}
	members, _ := value.Members(root)
	keys := map[string]bool{}
	for _, m := range members {
		keys[m.Name] = true
	}
	return keys["parameters"] || keys["api"] && keys["config"]
}

// checkWritable checks that the files of a run can be written. It leaves them as they
// are.
func (x *extraction) checkWritable(l *loaded) error {
	for _, u := range x.outputs() {
		if err := probeExisting(u.path); err != nil {
			return err
		}
	}
	if path := x.tokensPath(); path != "" && l.Info().RotatesTokens {
		if err := probe(path); err != nil {
			return err
		}
	}
	if x.contract != "" {
		if err := probe(x.contract); err != nil {
			return err
		}
	}
	if x.kept == "" {
		return nil
	}
	return probe(x.kept)
}

// probeExisting checks that a file can be written, if it exists, and replaced. It changes nothing.
func probeExisting(path string) error {
	if path == "" || path == "-" || files.IsStream(path) {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		err = file.Close()
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return files.WriteError(err)
	}
	return probe(path)
}

// probe checks that a file can be created at a path by a rename. It changes nothing.
func probe(path string) error {
	path, err := linked(path)
	if err == nil {
		err = files.Probe(path)
	}
	return files.WriteError(err)
}
