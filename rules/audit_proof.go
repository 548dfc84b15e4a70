package rules

import "strings"

// A Proof says when a finding of the audit is evidence: if all of its parts hold that are set. Otherwise the finding is a hint, as
// it always is with the zero Proof.
type Proof struct {
	If     ProofCondition // it must hold
	Unless ProofCondition // it must not hold
	Sign   *ReadSign      // the sign must not have decided how the list goes on

	// No response decides about the next request (CountAlone), or the page came again, for which the guard samePage may have ended
	// the list by default (Again); with both, one of them is enough.
	CountAlone, Again bool
}

// A ProofCondition is a condition of a [Proof].
type ProofCondition struct {
	Source string // an expression that is true or false
	Words  string // its meaning, which follows "if" or "unless"; empty if the clause of the rule says it
}

// A ReadSign is a sign by which the configuration may decide how the list goes on. It proves nothing after an end by a rule of the
// configuration, nor if a rule reads it, except if Despite holds.
type ReadSign struct {
	Read    string         // an expression: whether a rule that decides reads the sign
	Despite ProofCondition // the guard samePage has ended the list by default, and what else must hold
	Differs bool           // Despite holds only for a sign that differs from the one before: the body of the same page has none
}

// always is the proof of a finding that is evidence in every list.
var always = Proof{If: ProofCondition{Source: `true`}}

// EndedAgain holds if the guard samePage has ended the list by default.
var EndedAgain = ProofCondition{`list.again`, "samePage has ended the list"}

// otherMeanings are the words of a condition about the name of a sign.
const otherMeanings = "its name has other meanings, too"

// and returns the condition that c and a source hold. The words are added to those of c.
func (c ProofCondition) and(source, words string) ProofCondition {
	return ProofCondition{c.Source + " and " + source, c.Words + words}
}

// Source returns the expression that is true if the finding is evidence; it is empty if the finding is always a hint.
func (p Proof) Source() string {
	var ends, parts []string
	if p.CountAlone {
		ends = append(ends, `list.counted`)
	}
	if p.Again {
		ends = append(ends, `list.stuck`, EndedAgain.Source)
	}
	if ends != nil {
		parts = append(parts, strings.Join(ends, " or "))
	}
	if p.If.Source != "" {
		parts = append(parts, p.If.Source)
	}
	if p.Sign != nil {
		parts = append(parts, `not list.chosen`, "not "+p.Sign.Read+" or "+p.Sign.Despite.Source)
	}
	if p.Unless.Source != "" {
		parts = append(parts, "not ("+p.Unless.Source+")")
	}
	for i, part := range parts {
		if len(parts) > 1 && strings.Contains(part, " or ") {
			parts[i] = "(" + part + ")"
		}
	}
	return strings.Join(parts, " and ")
}
