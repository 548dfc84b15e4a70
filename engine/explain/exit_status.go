package explain

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// The exit statuses of runs that fail, as they are named in texts.
var (
	statusConfig    = exitStatus(failure.Config)
	statusAPI       = exitStatus(failure.API)
	statusTransient = exitStatus(failure.Transient)
	statusResponse  = exitStatus(failure.Response)
	statusPolicy    = exitStatus(failure.Policy)
	statusState     = exitStatus(failure.State)
	statusSuspect   = exitStatus(failure.Suspect)
)

func exitStatus(class failure.Class) string { return fmt.Sprintf("exit status %d", class.ExitStatus()) }

// statusOf returns the exit status of a run that fails because of a rule, or 0 for a rule that fails no
// run.
func statusOf(r rules.Rule) int {
	switch {
	case r.Role == rules.RoleOnError && r.OnError.Do == rules.ErrorFail:
		return failure.API.ExitStatus()
	case r.Role == rules.RoleOnError && r.OnError.Do == rules.ErrorRestart:
		return failure.Policy.ExitStatus()
	case r.Role != rules.RoleStop || r.Outcome != rules.Failed:
		return 0
	case r.Guard:
		return failure.Policy.ExitStatus()
	}
	return failure.Response.ExitStatus()
}

// failOnStatus names the exit status of a run whose list ends with an outcome other than complete.
func failOnStatus(dialect rules.Dialect, outcome rules.Outcome) string {
	by := "by evidence or"
	if dialect.Switches().AcceptEvidence {
		by = "with"
	}
	return fmt.Sprintf("exit status 0, or %d %s --fail-on %s", failure.Suspect.ExitStatus(), by, outcome)
}
