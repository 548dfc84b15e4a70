package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// word returns the flag or the command for a name of a remedy.
func (a *app) word(n remedy.Name) string {
	if strings.HasPrefix(n.Command, "stopwhen ") {
		return n.Command + a.serverFlags
	}
	return n.Command
}

// words returns a hint in the words of the command. r is the remedy of which the hint consists, if any.
func (a *app) words(hint string, r remedy.Remedy) string {
	if r.InWords() {
		return r.Words(a.word)
	}
	return hint
}

// messageOf returns the message of an error in the words of the command.
func (a *app) messageOf(err error) string {
	text := err.Error()
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		if before, ends := strings.CutSuffix(text, failed.Error()); ends {
			return before + failed.WithHint(a.words(failed.Hint, failed.Remedy)).Error()
		}
	}
	return text
}

// A worder is a log handler that adds remedies to messages, in the words of the command.
type worder struct {
	slog.Handler
	*app
}

func (w worder) Handle(ctx context.Context, r slog.Record) error {
	worded := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(attr slog.Attr) bool {
		if hint, ok := attr.Value.Any().(remedy.Remedy); ok {
			worded.Message += " (" + hint.Words(w.word) + ")"
		} else {
			worded.AddAttrs(attr)
		}
		return true
	})
	return w.Handler.Handle(ctx, worded)
}

func (w worder) WithAttrs(attrs []slog.Attr) slog.Handler {
	return worder{w.Handler.WithAttrs(attrs), w.app}
}

func (w worder) WithGroup(name string) slog.Handler { return worder{w.Handler.WithGroup(name), w.app} }
