package store

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Names of streams and buckets.
const (
	workStream   = "STOPWHEN_WORK"
	runStream    = "STOPWHEN_RUN_" // prefix of the name of a run
	bucketStream = "KV_"           // prefix of the name of a bucket
	configBucket = "STOPWHEN_CONFIGS"
	runBucket    = "STOPWHEN_RUNS"
	paceBucket   = "STOPWHEN_PACE"
	workerBucket = "STOPWHEN_WORKERS"
	workSubject  = "stopwhen.work."
	pageSubject  = "stopwhen.page."
	taskConsumer = "run_" // prefix of the name of the queue of a run
)

// HoldsRun reports whether a stream has the pages of a run.
func HoldsRun(stream string) bool { return strings.HasPrefix(stream, runStream) }

// HoldsTasks reports whether a consumer of a stream is the queue of a run.
func HoldsTasks(stream, consumer string) bool {
	return stream == workStream && strings.HasPrefix(consumer, taskConsumer)
}

// MaxName is the maximum length of the name of a run, in bytes.
const MaxName = 64

// A Key names a task: its run, its job and its path in the tree of tasks.
type Key struct {
	Run        string // see [CheckRun]
	Submission string // token that distinguishes runs with the same name
	Job        string // any text
	Task       string // a token: letters, digits, "-" and "_"
}

// CheckRun returns an error unless run is a valid name of a run: 1 to [MaxName] ASCII letters,
// digits, "-" and "_".
func CheckRun(run string) error {
	if !isToken(run) || len(run) > MaxName {
		return fmt.Errorf("invalid run %q: use 1 to %d letters, digits, \"-\" and \"_\"", run, MaxName)
	}
	return nil
}

// maxJob is the maximum length of the ID of a job in a subject, in bytes. The server closes
// connections that use subjects of four kilobytes.
const maxJob = 1024

// CheckJob returns an error if the ID of a job is too long for a subject.
func CheckJob(id string) error {
	if n := len(escape(id)); n > maxJob {
		return fmt.Errorf("the id of job %q is too long: %d bytes in a subject of NATS, of at most %d", clip(id, 60), n, maxJob)
	}
	return nil
}

// tokenVersion keeps the queues apart from the queues of programs with records of version 1, whose
// consumers take the tasks of all runs of an origin.
const tokenVersion = "2 "

// OriginToken returns the name of an origin in subjects and of its consumer. The name consists of
// the host and a hash of identity, which distinguishes origins by, for example, scheme, host and
// port.
func OriginToken(host, identity string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && isTokenByte(byte(r)) {
			return r
		}
		return '_'
	}, host)
	return safe[:min(len(safe), 100)] + "-" + value.SHA256(tokenVersion + identity)[:8]
}

// taskPages returns the subject of the pages of a task.
func taskPages(key Key) string {
	return runPages(key.Run, key.Submission) + escape(key.Job) + "." + key.Task
}

// runPages returns the subject prefix of a submission of a run.
func runPages(run, submission string) string {
	return pageSubject + run + "." + submission + "."
}

// taskSubject returns the subject of a task in the queue of an origin.
func taskSubject(origin string, key Key) string {
	return workSubject + origin + "." + key.Run + "." + key.Submission + "." + key.Task
}

// keyOf is the inverse of taskPages.
func keyOf(subject string) (Key, bool) {
	parts := strings.Split(strings.TrimPrefix(subject, pageSubject), ".")
	if len(parts) != 4 || !strings.HasPrefix(subject, pageSubject) {
		return Key{}, false
	}
	job, ok := unescape(parts[2])
	return Key{Run: parts[0], Submission: parts[1], Job: job, Task: parts[3]}, ok
}

// escape returns a text as a token of a subject: letters, digits, "-" and "_" stay, and any other
// byte becomes "=XX". The empty text becomes "=".
func escape(text string) string {
	if text == "" {
		return "="
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		if isTokenByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// unescape is the inverse of escape. It returns false for a text that escape cannot return.
func unescape(token string) (string, bool) {
	if token == "=" {
		return "", true
	}
	var text []byte
	for i := 0; i < len(token); i++ {
		if token[i] != '=' {
			text = append(text, token[i])
			continue
		}
		if i+3 > len(token) {
			return "", false
		}
		c, err := hex.DecodeString(token[i+1 : i+3])
		if err != nil {
			return "", false
		}
		text = append(text, c[0])
		i += 2
	}
	return string(text), escape(string(text)) == token
}

func isToken(text string) bool {
	for i := range len(text) {
		if !isTokenByte(text[i]) {
			return false
		}
	}
	return text != ""
}

func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
