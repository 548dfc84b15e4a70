package importer

import (
	"slices"

	"github.com/stopwhen/stopwhen/engine/importer/grade"
)

// Grade says how well a stream, or a part of it, was translated.
type Grade = grade.Grade

// Note says how a part of the source was translated.
type Note = grade.Note

// Report says how all streams were translated.
type Report = grade.Report

// StreamReport says how a stream was translated.
type StreamReport = grade.StreamReport

// The grades of streams and notes, as package grade describes them.
const (
	Exact       = grade.Exact
	Approximate = grade.Approximate
	Partial     = grade.Partial
	Credentials = grade.Credentials
	Refused     = grade.Refused
	Check       = grade.Check
	Left        = grade.Left
)

// A File is a document to import.
type File struct {
	Name string
	Text []byte
}

// MaxFileBytes is the size of the largest file that is read.
const MaxFileBytes = 32 << 20

// Options select the streams, and give settings values.
type Options struct {
	Streams []string          // names of the streams to import; nil imports all
	Set     map[string]string // settings of the source that the configuration has as constants
}

// Wants reports whether a stream is imported.
func (o Options) Wants(name string) bool {
	return o.Streams == nil || slices.Contains(o.Streams, name)
}

// A Format reads documents of one kind.
type Format struct {
	Name string // airbyte
	Doc  string // what the documents are, for the help: "low-code manifests of Airbyte (manifest.yaml)"
	Read func(files []File, o Options) (*Source, error)
}
