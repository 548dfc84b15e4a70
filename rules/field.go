package rules

// Field is one key of an object of the configuration: what it may hold, what it
// is when it is absent, and what it is for. The tables of fields are the single
// description of the configuration: it is read, checked, documented and given
// to editors from them.
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	Default  any      // for the reference; nil: none
	Fields   []Field  // what an object of Kind Block or Blocks holds; of any other kind: an object may stand in its place
	Each     *Field   // what each element of a List, or each value of a Map, is; nil: any value
	Values   []string // the texts that it may be; nil: any
	Doc      string

	// Keboola reads the value as the reference implementation does, where that
	// differs from Kind.
	Keboola Kind

	// DefaultOf names the neighbour whose value this one takes when it is absent.
	DefaultOf string

	// Delimiter names the setting that separates the keys of a path.
	Delimiter string

	// Unsupported says what a known key of the reference would change: a key
	// that is not supported yet is never silently ignored. See [Effect].
	Unsupported Effect
}

// Effect is what ignoring a key would change.
type Effect int

const (
	None      Effect = iota // supported
	OnRequest               // what is requested: refused
	OnOutput                // only what is put out: a warning
)

// Kind is what a value of the configuration may be.
type Kind int

const (
	Any        Kind = iota // any value
	Text                   // a non-empty string
	Flag                   // true or false
	Count                  // a whole number above 0, or a string that holds one
	Integer                // a whole number, or a string that holds one
	Path                   // dot-separated keys; `\.` is a dot in a key, a number indexes a list
	Key                    // one key of the root, taken literally
	Seconds                // seconds above 0, or a duration: "90s", "10 minutes"
	Secret                 // a string, or {"env": "NAME"}
	Map                    // an object with any keys
	Paths                  // an object of paths
	Block                  // an object with the keys of Fields
	Blocks                 // a list of objects with the keys of Fields
	List                   // a list
	Expression             // an expression
	Nested                 // a whole pagination object; its keys depend on its method

	// The reference's readings of the same values (dialect keboola).
	PHPNumber  // numeric, cast to int, not 0
	PHPInt     // cast to int; null is absent
	PHPFlag    // cast to bool; null is absent
	PHPText    // a scalar cast to string; an empty one is absent
	PHPStrict  // a string that is not empty
	PHPWhole   // an int; 0 is absent
	PHPBytes   // cast to int; an empty value is absent
	PHPSeconds // an int, or text for strtotime; an empty value is absent
)

var kindNames = map[Kind]string{
	Any: "any value", Text: "a non-empty string", Flag: "true or false",
	Count: "a whole number above 0", Integer: "a whole number", Path: "a path like a.b",
	Key: "the name of a key", Seconds: `seconds above 0, or a duration like "90s" or "10 minutes"`,
	Secret: `a string, or {"env": "NAME"}`, Map: "an object", Paths: "an object of paths", Block: "an object", Blocks: "a list of objects",
	List: "a list", Expression: "an expression", Nested: "a pagination object",
	PHPNumber: "a number other than 0", PHPInt: "a number", PHPFlag: "a boolean", PHPText: "a string",
	PHPStrict: "a non-empty string", PHPWhole: "a whole number", PHPBytes: "a number", PHPSeconds: "seconds, or a time like \"10 minutes\"",
}

// String describes the kind as a message and the reference do: "a whole number above 0".
func (k Kind) String() string { return kindNames[k] }

// find is the field of a name.
func find(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// names lists the keys that may be written, for the nearest one.
func names(fields []Field) []string {
	var out []string
	for _, f := range fields {
		if f.Unsupported == None {
			out = append(out, f.Name)
		}
	}
	return out
}
