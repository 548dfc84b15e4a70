package rules

import "github.com/stopwhen/stopwhen/rules/value"

// Object is an ordered JSON object; see package value.
type Object = value.Object

// Member is one name and value of an [Object].
type Member = value.Member
