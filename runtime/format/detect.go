package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

var byteOrderMark = []byte("\ufeff")

// mediaTypes maps media types to formats. A media type whose suffix states the format is not listed.
var mediaTypes = map[string]rules.Format{
	"application/json": rules.FormatJSON, "text/json": rules.FormatJSON, "application/x-json": rules.FormatJSON,

	"application/x-ndjson": rules.FormatNDJSON, "application/ndjson": rules.FormatNDJSON, "application/jsonl": rules.FormatNDJSON,
	"application/x-jsonl": rules.FormatNDJSON, "application/jsonlines": rules.FormatNDJSON, "application/x-jsonlines": rules.FormatNDJSON,
	"application/json-lines": rules.FormatNDJSON, "application/jsonl+json": rules.FormatNDJSON,
	"application/stream+json": rules.FormatNDJSON,
	"application/json-seq":    rules.FormatNDJSON,

	"text/csv": rules.FormatCSV, "application/csv": rules.FormatCSV, "text/comma-separated-values": rules.FormatCSV,
	tabSeparated: rules.FormatCSV,

	"application/xml": rules.FormatXML, "text/xml": rules.FormatXML,

	"text/html": html, "application/xhtml+xml": html,
}

const (
	html         = rules.Format("html") // not a format of a list
	tabSeparated = "text/tab-separated-values"
)

// typeOf returns the format of a content type, or "".
func typeOf(contentType string) rules.Format {
	media := mediaType(contentType)
	switch format, known := mediaTypes[media]; {
	case known:
		return format
	case strings.HasSuffix(media, "+json"):
		return rules.FormatJSON
	case strings.HasSuffix(media, "+xml"):
		return rules.FormatXML
	}
	return ""
}

// mediaType returns a content type without its parameters.
func mediaType(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return media
}

// formatOf returns the format of a response that is a page. The configured format applies, unless
// header and body agree that the response is something else: otherwise an error message would
// become a table.
func (c *Converter) formatOf(b Body) (rules.Format, error) {
	head, format := beginning(b.Data), c.options.Response.Format
	switch stated := typeOf(b.ContentType); {
	case scan.IsUTF16(b.Data):
		return "", errors.New(scan.UTF16Problem)
	case looksLikeHTML(head), stated == html && looksLikeXML(head) && format != rules.FormatXML:
		return "", errors.New("the response is a web page")
	case format == rules.FormatCSV && stated == rules.FormatXML && looksLikeXML(head),
		format == rules.FormatCSV && stated == rules.FormatJSON && looksLikeJSON(head):
		return "", fmt.Errorf("want %s, got %s", names[format], names[stated])
	case format == rules.FormatAuto:
		return detect(b, stated, head)
	}
	return format, nil
}

// Of returns the format of a successful response, from its content type, then from its first byte.
// The error says why the response has no known format, as for a web page.
func Of(b Body) (rules.Format, error) {
	return (&Converter{options: Options{Response: rules.ResponseFormat{Format: rules.FormatAuto}}}).formatOf(b)
}

// names are the formats as spelled in messages.
var names = map[rules.Format]string{rules.FormatJSON: "JSON", rules.FormatNDJSON: "NDJSON", rules.FormatCSV: "CSV", rules.FormatXML: "XML"}

// detect returns the format of a body, from its content type, then from its first byte.
func detect(b Body, stated rules.Format, head []byte) (rules.Format, error) {
	switch {
	case stated != "" && stated != html:
		return stated, nil
	case len(head) == 0:
		return rules.FormatJSON, nil // the JSON reader reports that it is empty
	case looksLikeXML(head):
		return rules.FormatXML, nil
	case isLines(head):
		return rules.FormatNDJSON, nil
	case looksLikeJSON(head):
		return rules.FormatJSON, nil
	}
	return "", fmt.Errorf("the format cannot be told from %s; set response.format", cmp.Or(mediaType(b.ContentType), "the body alone"))
}

// isLines reports whether a body has a JSON value in its first line and more data after it.
func isLines(head []byte) bool {
	line, rest, found := bytes.Cut(head, []byte("\n"))
	return found && len(bytes.TrimSpace(rest)) > 0 && looksLikeJSON(head) && json.Valid(trimLine(line))
}

// isOneLine reports whether a body is an object in a single line, as a file of NDJSON with one line is.
func isOneLine(data []byte) bool {
	object := bytes.TrimSpace(bytes.TrimPrefix(data, byteOrderMark))
	return bytes.HasPrefix(object, []byte("{")) && !bytes.ContainsRune(object, '\n')
}

// headBytes is the length of the part of a body from which its format is detected.
const headBytes = 1 << 20

// beginning returns the first bytes of a body, without leading white space.
func beginning(data []byte) []byte {
	head := bytes.TrimPrefix(data[:min(len(data), headBytes)], byteOrderMark)
	return bytes.TrimLeft(head, " \t\r\n")
}

func looksLikeXML(head []byte) bool { return len(head) > 0 && head[0] == '<' }

func looksLikeJSON(head []byte) bool { return len(head) > 0 && (head[0] == '{' || head[0] == '[') }

var htmlBeginning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<(?i:!doctype\s+html|html)[\s>]`) })

func looksLikeHTML(head []byte) bool { return htmlBeginning().Match(head) }

// Hint returns the setting for a response that was read as JSON and is not JSON, or "" if no setting helps.
func Hint(b Body) string {
	head := beginning(b.Data)
	format := typeOf(b.ContentType)
	switch {
	case looksLikeHTML(head), format == html:
		return "the API answered with a web page: check the address and the credentials"
	case looksLikeXML(head):
		format = rules.FormatXML
	case looksLikeJSON(head) && isLines(head):
		format = rules.FormatNDJSON
	case format != rules.FormatCSV, looksLikeJSON(head):
		return ""
	}
	return fmt.Sprintf(`if the API sends %s, set "response": {"format": %q}`, names[format], format)
}
