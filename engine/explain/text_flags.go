package explain

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
)

// csvInWords, parquetInWords and singerInWords say what a file of the format has.
const (
	csvInWords = "A header, and a row for each item; without an item, the file is empty. The columns are the members, in the order in " +
		"which they first appear; those of a nested object have a column each, such as address.city. A member that is null or missing is " +
		"empty, an empty text is \"\", and a list is JSON. An item that is not an object is in the column value. Standard output has the " +
		"table at the end of the run."
	parquetInWords = "The columns of csv, each with a type: BOOLEAN, INT64, DOUBLE or, for texts, lists and values of several types, " +
		"STRING. Until the table is complete, .partial has the items as NDJSON."
	singerInWords = "A stream for each file: a SCHEMA with the types that the items have so far, and again before an item with others, a " +
		"RECORD for each item ({\"value\": item} if it is not an object), and a STATE with the kept values, if there are any. The " +
		"key_properties are the key of the job, if it is not nested."
)

// writeFlags writes what flags of the command run change. A configuration does not have them.
func (t *textWriter) writeFlags() {
	jobs := t.explanation.Jobs
	hasJob := func(has func(JobExplanation) bool) bool { return slices.ContainsFunc(jobs, has) }
	t.writeBlank()
	t.writeParagraph(0, "flags of a run")
	if hasJob(func(x JobExplanation) bool { return len(x.Items.Files) > 0 }) {
		t.writeRow("--format csv", csvInWords)
		t.writeRow("--format parquet", parquetInWords)
		t.writeRow("--format singer", singerInWords)
		t.writeRow("", "The format replaces ndjson in the name of a file. With .gz, as in csv.gz, it is compressed (not parquet).")
		t.writeRow("--append", "The rows are added to the file instead of replacing it, without --state only if the whole run succeeds. "+
			"New columns of a table come after those of the file.")
	}
	if hasJob(func(x JobExplanation) bool { return x.Items.Key != nil }) {
		t.writeRow("--merge", fmt.Sprintf("The rows of the file stay, also in a run without kept values, but a row of the run replaces "+
			"those with its key. An item without a value of its key fails the run (%s).", statusResponse))
	}
	if hasJob(func(x JobExplanation) bool { return x.Method != "" && !x.Bounds.onePage }) {
		t.writeRow("--max-pages N", t.maxPages())
	}
	t.writeRow("--fail-on", t.failOn())
	if len(jobs) == 1 {
		also := ""
		if jobs[0].Partitions == nil {
			also = ", nor has --jobs"
		}
		t.writeRow("--keep-going", "It has no effect, since there is one job"+also+".")
	}
}

// maxPages says what --max-pages does.
func (t *textWriter) maxPages() string {
	list, stay := "A list", ""
	if slices.ContainsFunc(t.explanation.Jobs, func(x JobExplanation) bool { return x.Partitions != nil }) {
		list = "A list, that of each partition,"
	}
	if slices.ContainsFunc(t.explanation.Jobs, func(x JobExplanation) bool { return x.Items.Added }) {
		stay = "; in a run with kept values, these and the file stay as they are, and the rows are in .partial"
	}
	return fmt.Sprintf("%s ends after N pages, unless another rule ends it on page N. It is limited then, which is no error (%s)%s.", list,
		failOnStatus(t.explanation.Dialect, rules.Limited), stay)
}

// failOn says what --fail-on does.
func (t *textWriter) failOn() string {
	if t.explanation.Dialect.Switches().AcceptEvidence {
		return fmt.Sprintf("A list with an outcome that it names (limited, guarded, partial), with evidence (evidence) or with any sign of "+
			"the audit (suspect) fails the run (%s): its file and kept values stay as they are.", statusSuspect)
	}
	return "With an outcome (limited, guarded, partial), a list that ends so counts as one with evidence; with suspect, a list with any " +
		"sign of the audit does. With none, no list does: its file is replaced, and its values are kept, in spite of evidence."
}
