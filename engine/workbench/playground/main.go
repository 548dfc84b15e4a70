//go:build js && wasm

// Command playground is the workbench in a browser, as WebAssembly. It gives the page a function,
// stopwhenCall(method, params), which takes and promises JSON, and makes no requests.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"syscall/js"
	"time"
	_ "time/tzdata" // a browser gives WebAssembly no time zones

	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/session"
)

// There is one thread for everything, so the heap is collected while nobody waits: quiet is the time after the last
// answer. During a long call, it is collected at heapLimit bytes.
const (
	quiet     = 300 * time.Millisecond
	heapLimit = 1 << 30
)

func main() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapLimit)
	p := &playground{Session: session.New(workbench.New(), nil), collect: time.AfterFunc(quiet, goruntime.GC)}
	js.Global().Set("stopwhenCall", js.FuncOf(func(_ js.Value, args []js.Value) any {
		method, params := args[0].String(), args[1].String()
		return js.Global().Get("Promise").New(js.FuncOf(func(_ js.Value, settle []js.Value) any {
			go func() { settle[0].Invoke(p.answer(method, []byte(params))) }()
			return nil
		}))
	}))
	select {}
}

// A playground answers the calls of the page.
type playground struct {
	*session.Session
	collect *time.Timer
}

// answer makes a call, and returns the object with its result or its error.
func (p *playground) answer(method string, params json.RawMessage) (text string) {
	p.collect.Stop()
	defer p.collect.Reset(quiet)
	defer func() {
		if reason := recover(); reason != nil {
			text = encoded(map[string]any{"error": workbench.Error{Message: fmt.Sprintf("internal error: %v", reason)}})
		}
	}()
	result, err := p.call(method, params)
	if err != nil {
		known, ok := errors.AsType[*workbench.Error](err)
		if !ok {
			known = &workbench.Error{Message: err.Error()}
		}
		return encoded(map[string]any{"error": known})
	}
	return encoded(map[string]any{"result": result})
}

func (p *playground) call(method string, params json.RawMessage) (any, error) {
	if method != "open" {
		return p.Call(context.Background(), method, params)
	}
	var linked struct{ Name, Text string }
	if err := json.Unmarshal(params, &linked); err != nil {
		return nil, err
	}
	opened := &session.OpenedCase{Name: linked.Name, Text: linked.Text}
	if linked.Text == "" {
		var err error
		if opened, err = p.OpenExample(context.Background()); err != nil {
			return nil, err
		}
	}
	return struct {
		*session.OpenedCase
		Playground bool `json:"playground"`
	}{opened, true}, nil
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return `{"error":{"message":"the answer cannot be written as JSON"}}`
	}
	return string(text)
}
