package studio

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stopwhen/stopwhen/engine/files"
)

// staticPolicy is the policy of the playground. It may start its worker, and the worker may compile the
// engine.
const staticPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"worker-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types stopwhen"

// EngineName is the name of the file that has the engine as WebAssembly: package playground, built.
const EngineName = "stopwhen.wasm"

// WriteStatic writes the playground to a directory: the page, and the engine, which it compresses. support is the
// script of the Go toolchain that has built the engine; nil means the one of the toolchain of this package.
func WriteStatic(dir string, engine, support []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	paths, err := fs.Glob(assets, "assets/*")
	if err != nil {
		return err
	}
	for _, path := range paths {
		content, err := assets.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		switch {
		case name == "index.html":
			content = staticPage(content)
		case name == "wasm_exec.js" && support != nil:
			content = support
		}
		if err := files.Write(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	var compressed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression) // the level is valid
	if _, err := w.Write(engine); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, EngineName+".gz"), compressed.Bytes(), 0o644)
}

// staticPage returns the page with its policy, which a web server need not know, and the name of the front end.
func staticPage(page []byte) []byte {
	page = bytes.Replace(page, []byte(`<html lang="en">`), []byte(`<html lang="en" data-face="playground">`), 1)
	meta := fmt.Sprintf("<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=%q>\n"+
		"<meta name=\"referrer\" content=\"no-referrer\">", staticPolicy)
	return bytes.Replace(page, []byte(`<meta charset="utf-8">`), []byte(meta), 1)
}
