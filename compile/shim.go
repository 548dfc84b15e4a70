package compile

import (
	"slices"
	"strings"
)

type Condition = Stop

func (j *Job) Sequential() string            { return j.Waits() }
func (j *Job) MaxPages() int                 { return j.MostPages() }
func Expressions(list []*Stop) []*Expression { return conditions(list) }
func (r Read) OfLink() bool                  { return strings.HasPrefix(r.Root, "link(") }
func (e *Expression) ChecksPresence(r Read) bool {
	return slices.ContainsFunc(e.Reads, func(other Read) bool { return other.Has && slices.Equal(other.Path, r.Path) })
}
func (s *Stop) TruthFlags() []Read {
	if !strings.Contains(s.Rule.Source, "truthy(") {
		return nil
	}
	var out []Read
	for _, r := range s.Reads {
		if r.OfBody() && !r.Has {
			out = append(out, r)
		}
	}
	return out
}
