package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Catalog has schemas and keys of streams.
type Catalog struct{ streams map[string]catalogStream }

// catalogStream is a stream of a catalog. The stream is found by either name.
type catalogStream struct {
	Stream        string          `json:"stream"`
	TapStreamID   string          `json:"tap_stream_id"`
	Schema        json.RawMessage `json:"schema"`
	KeyProperties []string        `json:"key_properties"`
	Metadata      []struct {
		Breadcrumb []string `json:"breadcrumb"`
		Metadata   struct {
			Keys []string `json:"table-key-properties"`
		} `json:"metadata"`
	} `json:"metadata"`
}

// ParseCatalog reads a catalog in the format that Singer taps write: an object with a list
// of streams, each with its name (stream, or tap_stream_id), and its schema and
// key_properties, both of which may be missing.
func ParseCatalog(text []byte) (*Catalog, error) {
	var found struct {
		Streams []catalogStream `json:"streams"`
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	if found.Streams == nil {
		return nil, errors.New("want an object with the list streams")
	}
	c := &Catalog{streams: map[string]catalogStream{}}
	for i, s := range found.Streams {
		if s.Stream == "" {
			s.Stream = s.TapStreamID
		}
		if s.Stream == "" {
			return nil, fmt.Errorf("streams[%d] has no stream, which is the dataType of a job", i)
		}
		if _, known := c.streams[s.Stream]; known {
			return nil, fmt.Errorf("streams[%d]: stream %q appears twice", i, s.Stream)
		}
		if err := s.normalize(); err != nil {
			return nil, fmt.Errorf("streams[%d]: %w", i, err)
		}
		c.streams[s.Stream] = s
	}
	return c, nil
}

// normalize checks the schema and finds the keys.
func (s *catalogStream) normalize() error {
	if schema := bytes.TrimSpace(s.Schema); len(schema) == 0 || bytes.Equal(schema, []byte("null")) {
		s.Schema = nil
	} else if schema[0] != '{' {
		return errors.New("schema: want an object")
	} else {
		var compact bytes.Buffer
		if err := json.Compact(&compact, schema); err != nil {
			return err
		}
		s.Schema = compact.Bytes()
	}
	for _, m := range s.Metadata {
		if len(m.Breadcrumb) == 0 && s.KeyProperties == nil {
			s.KeyProperties = m.Metadata.Keys
		}
	}
	return nil
}

// stream returns what the catalog, which may be nil, says about a stream.
func (c *Catalog) stream(name string) catalogStream {
	if c == nil {
		return catalogStream{}
	}
	return c.streams[name]
}

// Streams returns the names of the streams of the catalog, sorted.
func (c *Catalog) Streams() []string {
	if c == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.streams))
}
