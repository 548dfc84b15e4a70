package engine

import "encoding/json"

// Config is a configuration in Go. It has the keys, the meaning and the defaults
// of a configuration file (docs/reference/config.md); zero values are left out.
// [HTTP], [Job] and the methods of paging are generated from the tables with which
// a file is read; forceStop.pages of a file is ForceStopPages.
type Config struct {
	BaseURL        string   `config:"baseUrl"`    // endpoints are resolved against it, so it should end in a slash
	Dialect        string   `config:"dialect"`    // "spec" (default) or "keboola"
	Paging         Paging   `config:"pagination"` // nil is one request per job
	HTTP           HTTP     `config:"http"`
	Response       Response `config:"response"`       // the format of the responses of all jobs
	AllowedOrigins []string `config:"allowedOrigins"` // other origins that links and redirects may point to, without credentials
	Auth           *Auth    // nil is none
	Jobs           []Job
	MaxPartitions  int              // of a run; 0: any number
	Inputs         map[string]Input // values that each run sets, by name; see [WithInputs]
}

// Paging is a way of paging: [Offset], [Cursor] and so on, each with its settings
// and the rules that every method may have. A method that was added by
// [WithMethod] is used by [CustomPaging].
type Paging interface{ pagingMethod() string }

// CustomPaging pages with a method that was added by [WithMethod]. Settings holds
// the method's settings and any key that every method may have.
type CustomPaging struct {
	Method   string
	Settings map[string]any
}

func (p CustomPaging) pagingMethod() string { return p.Method }

//go:generate go run ./internal/configgen

// Expr is an expression in the place of a value of Params: it is evaluated once, before
// the first request of each partition of the job. In a file it is {"expr": "…"}.
type Expr string

// MarshalJSON returns the value as a file has it.
func (e Expr) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"expr": string(e)})
}
