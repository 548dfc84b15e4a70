package main

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/runtime/redact"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// secretValue finds the value of a key that begins with #, in JSON and in YAML,
// well-formed or not: a configuration at fault has no decoded secrets to hide.
var secretValue = regexp.MustCompile(`(?m)(?:^|[\s{,])["']?#[\w-]+["']?\s*:[ \t]*("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"'{\[,}\]][^,}\]\n]*)`)

// masked puts stars in the place of the secrets, one for each character so that
// positions stay true, and lists the secrets.
func masked(text string) (string, []string) {
	var secrets []string
	var out strings.Builder
	last := 0
	for _, at := range secretValue.FindAllStringSubmatchIndex(text, -1) {
		written := text[at[2]:at[3]]
		inside := strings.Trim(strings.TrimSpace(written), `"'`)
		from := at[2] + strings.Index(written, inside)
		out.WriteString(text[last:from])
		out.WriteString(strings.Repeat("*", utf8.RuneCountInString(inside)))
		last = from + len(inside)
		secrets = append(secrets, inside)
		var decoded string
		if json.Unmarshal([]byte(written), &decoded) == nil {
			secrets = append(secrets, decoded)
		}
	}
	return out.String() + text[last:], secrets
}

// hideSecrets takes the secrets out of faults and warnings, whose snippets show
// lines of the configuration. More are what it read from the environment.
func hideSecrets(err error, name string, text []byte, more []string) {
	var faults diag.Diagnostics
	if !errors.As(err, &faults) {
		return
	}
	plain := strings.TrimPrefix(string(text), "\ufeff")
	hidden, secrets := masked(plain)
	before, after := diag.NewSource(name, plain), diag.NewSource(name, hidden)
	redactor := redact.New(append(secrets, more...))
	for _, f := range faults {
		if f.Snippet == before.Snippet(f.Pos) { // not one of an expression's own
			f.Snippet = after.Snippet(f.Pos)
		}
		f.Message, f.Hint, f.Snippet = redactor.String(f.Message), redactor.String(f.Hint), redactor.String(f.Snippet)
	}
}
