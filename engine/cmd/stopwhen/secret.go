package main

import (
	"errors"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// hideSecrets hides secrets in the errors or warnings of a configuration.
func hideSecrets(err error, secrets []string) {
	mistakes, _ := errors.AsType[diag.Diagnostics](err)
	redactor := redact.New(secrets)
	for _, m := range mistakes {
		m.Message, m.Hint, m.Snippet = redactor.String(m.Message), redactor.String(m.Hint), redactor.String(m.Snippet)
	}
}
