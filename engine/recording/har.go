// Package recording keeps the HTTP exchanges of a run in one file, and plays
// them back without a network.
//
// The file is a HAR 1.2 archive, which browsers' developer tools write and
// show too. A [Recorder] is the transport of a run that is recorded; a [Player]
// is transport and clock of one that is replayed.
package recording

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The parts of a HAR 1.2 archive that are written and read. What begins with an
// underscore is an addition, as the format wants them named.
type (
	entry struct {
		Started  string   `json:"startedDateTime"`
		Time     float64  `json:"time"` // milliseconds, until the body was read
		Request  request  `json:"request"`
		Response response `json:"response"`
		Cache    struct{} `json:"cache"`
		Timings  timings  `json:"timings"`
		Error    string   `json:"_error,omitempty"` // what went wrong; browsers write it so too
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
		Status      int     `json:"status"` // 0: none came
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
		Encoding string `json:"encoding,omitempty"` // base64, or none
	}
	timings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// contentOf holds a body: as text where it is text, else in base64.
func contentOf(body []byte, mimeType string) content {
	c := content{Size: len(body), MimeType: mimeType, Text: string(body)}
	if !utf8.Valid(body) {
		c.Text, c.Encoding = base64.StdEncoding.EncodeToString(body), "base64"
	}
	return c
}

// body is what contentOf was given.
func (c content) body() ([]byte, error) {
	if strings.EqualFold(c.Encoding, "base64") {
		return base64.StdEncoding.DecodeString(c.Text)
	}
	return []byte(c.Text), nil
}

// pairsOf lists headers in order of their names.
func pairsOf(header http.Header, show func(name, value string) string) []pair {
	out := []pair{}
	for name, values := range header {
		for _, v := range values {
			out = append(out, pair{name, show(name, v)})
		}
	}
	slices.SortStableFunc(out, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}
