package compile

import (
	"errors"
	"maps"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// KeepKey returns the key of the kept values of a partition, and "" if all partitions share them. It is an
// error if keepFor is nil or empty.
func (j *Job) KeepKey(m *language.Machine, partition *rules.Context) (string, error) {
	if j.KeepFor == nil {
		return "", nil
	}
	v, err := j.KeepFor.Value(m, partition, language.MaxValueBytes)
	if err != nil {
		return "", err
	}
	v = language.JSONForm(v)
	key, isScalar := value.Text(v)
	if !isScalar && v != nil {
		text, err := value.Marshal(v)
		if err != nil {
			return "", &language.RuleError{Rule: j.KeepFor.Rule, Err: err}
		}
		key = string(text)
	}
	if key == "" {
		return "", &language.RuleError{Rule: j.KeepFor.Rule, Err: errors.New("its value is nil or empty")}
	}
	return key, nil
}

// SelectKept selects the values that the previous run kept for a key of [Job.KeepKey] from the kept values of
// the job. If the key is not empty, each value of the job is an object with a value for each key.
func SelectKept(kept map[string]any, key string) map[string]any {
	if key == "" {
		return kept
	}
	var keptOfKey map[string]any
	for name, v := range kept {
		if element, has := value.At(v, []string{key}); has {
			if keptOfKey == nil {
				keptOfKey = map[string]any{}
			}
			keptOfKey[name] = element
		}
	}
	return keptOfKey
}

// NestKept is the reverse of [SelectKept]: it returns the values of a key as values of the job.
func NestKept(keptOfKey map[string]any, key string) map[string]any {
	if key == "" || keptOfKey == nil {
		return keptOfKey
	}
	kept := map[string]any{}
	for name, v := range keptOfKey {
		kept[name] = map[string]any{key: v}
	}
	return kept
}

// KeptValues returns the values for the next run, after the last page of a list. soFar is the result of
// [Job.KeptSoFar] for the earlier pages. last is the number of the last page. If it is not the page of the
// context, as after an error response, the items of the context are those of an earlier page, which soFar has.
//
// If a value is nil, the value of the previous run stays, and absent has its expression. A value that was nil after the
// items of the previous run stays so: see [Analysis.Continues].
func (j *Job) KeptValues(m *language.Machine, c *rules.Context, soFar map[string]any, last int) (
	values map[string]any, absent []*language.Expression, err error,
) {
	if len(j.Keeps) == 0 {
		return nil, nil, nil
	}
	values = map[string]any{}
	for _, e := range j.Keeps {
		name := e.Rule.Target
		v := soFar[name]
		if c.Page == last || !AccumulatesItems(e) {
			if v, err = keptValue(e, m, c, soFar); err != nil {
				return nil, nil, err
			}
		}
		if v != nil {
			values[name] = v
			continue
		}
		absent = append(absent, e)
		if before, known := c.Kept[name]; known {
			values[name] = before
		}
	}
	return values, absent, nil
}

// KeptSoFar returns the accumulated values after a page that is not the last. soFar is the result of
// KeptSoFar for the earlier pages.
func (j *Job) KeptSoFar(m *language.Machine, c *rules.Context, soFar map[string]any) (map[string]any, error) {
	var values map[string]any
	for _, e := range j.Keeps {
		if !AccumulatesItems(e) {
			continue
		}
		v, err := keptValue(e, m, c, soFar)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if values == nil {
			values = map[string]any{}
		}
		values[e.Rule.Target] = v
	}
	return values, nil
}

// AccumulatesItems reports whether an expression under keep covers the items of all pages. It does if it
// reads items but no state: with state, the configuration itself carries values from page to page.
func AccumulatesItems(e *language.Expression) bool {
	reads := func(root string) bool {
		return e.ReadsAny(root)
	}
	return reads(rules.ContextItems) && !reads(rules.ContextState)
}

// keptValue evaluates an expression under keep on a page. If the expression accumulates, it sees its value so
// far as kept.NAME, as if the previous page were the previous run, and a page on which it is nil leaves the
// value unchanged. An empty text counts as nil: many APIs write so that there is no token.
func keptValue(e *language.Expression, m *language.Machine, c *rules.Context, soFar map[string]any) (any, error) {
	before, known := soFar[e.Rule.Target]
	if known {
		kept := c.Kept
		defer func() { c.Kept = kept }()
		c.Kept = maps.Clone(kept)
		if c.Kept == nil {
			c.Kept = map[string]any{}
		}
		c.Kept[e.Rule.Target] = before
	}
	v, err := e.Value(m, c, language.MaxValueBytes)
	if v = language.JSONForm(v); v == nil || v == "" {
		v = before
	}
	return v, err
}
