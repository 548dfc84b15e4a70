// Package recording records the HTTP exchanges of a run in a file and replays
// them without a network.
//
// The file is an HTTP archive (HAR 1.2), which the developer tools of browsers
// also write and show. A [Recorder] is the transport of a recorded run; a
// [Player] is the transport and the clock of a replayed one.
package recording

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The parts of a HAR 1.2 archive that are written and read. The format wants
// names of additional fields to begin with an underscore.
type (
	entry struct {
		Started  string   `json:"startedDateTime"`
		Time     float64  `json:"time"` // milliseconds until the body was read
		Request  request  `json:"request"`
		Response response `json:"response"`
		Cache    struct{} `json:"cache"`
		Timings  timings  `json:"timings"`
		Error    string   `json:"_error,omitempty"` // what went wrong; browsers use the same name
		Resumed  bool     `json:"_resumed,omitempty"`
		Unframed bool     `json:"_unframed,omitempty"` // only the end of the connection ended the body
	}
	request struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []pair    `json:"cookies"`
		Headers     []pair    `json:"headers"`
		Query       []pair    `json:"queryString"`
		PostData    *postData `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	response struct {
		Status      int     `json:"status"` // 0 if there was no response
		StatusText  string  `json:"statusText"`
		HTTPVersion string  `json:"httpVersion"`
		Cookies     []pair  `json:"cookies"`
		Headers     []pair  `json:"headers"`
		Content     content `json:"content"`
		RedirectURL string  `json:"redirectURL"`
		HeadersSize int     `json:"headersSize"`
		BodySize    int     `json:"bodySize"`
	}
	pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	postData struct {
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
	}
	content struct {
		Size     int    `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"` // "base64" or empty
	}
	timings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// base64Encoding is the encoding of contents that are not UTF-8.
const base64Encoding = "base64"

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// newContent encodes a body, in base64 unless it is valid UTF-8.
func newContent(body, mimeType string) content {
	c := content{Size: len(body), MimeType: mimeType, Text: body}
	if !utf8.ValidString(body) {
		c.Text, c.Encoding = base64.StdEncoding.EncodeToString([]byte(body)), base64Encoding
	}
	return c
}

// body decodes the body that newContent encoded.
func (c content) body() ([]byte, error) {
	if strings.EqualFold(c.Encoding, base64Encoding) {
		return base64.StdEncoding.DecodeString(c.Text)
	}
	return []byte(c.Text), nil
}

// lacksBody reports whether the body of a successful response is left out of the archive: it has no text, and its size is above
// 0 or, if the browser does not know it, -1. The status of another response suffices without the body.
func (r response) lacksBody() bool {
	noContent := r.Status == http.StatusNoContent || r.Status == http.StatusResetContent
	return r.Content.Text == "" && r.Content.Size != 0 && r.Status/100 == 2 && !noContent
}

// newPairs lists headers sorted by name, with their values as show returns them.
func newPairs(header http.Header, show func(name, value string) string) []pair {
	out := []pair{}
	for name, values := range header {
		for _, v := range values {
			out = append(out, pair{name, show(name, v)})
		}
	}
	slices.SortStableFunc(out, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}
