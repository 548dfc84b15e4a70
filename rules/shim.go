package rules

type ErrorAction = string

const (
	ErrorStop     = "stop"
	ErrorRetry    = "retry"
	ErrorRestart  = "restart"
	ErrorFail     = "fail"
	ErrorContinue = "continue"
)

type Hints = Signs
type HintKind = string

const (
	HintTotal = "total"
	HintNext  = "next"
	HintMore  = "more"
	HintLast  = "last"
)

type HintPath struct {
	Keys []string
	Kind string
}

func HintPaths() []HintPath {
	var out []HintPath
	for _, s := range SignPaths {
		out = append(out, HintPath{s.Keys, s.Of})
	}
	return out
}

func HintHeaders() []struct{ Name, Kind string } {
	var out []struct{ Name, Kind string }
	for _, s := range SignHeaders {
		out = append(out, struct{ Name, Kind string }{s.Name, s.Of})
	}
	return out
}
