package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// addJobRequest adds the rules that compute values of the job's own request, once for each
// partition.
func (l *lowerer) addJobRequest(set *Ruleset) {
	job := &set.Job
	if !l.switches.plainTexts {
		base := l.cfg.BaseURL
		l.addAddress(set, RoleBaseURL, &base, l.cfg.path, "api.baseUrl")
		l.addAddress(set, RoleEndpoint, &job.Endpoint, job.path, "endpoint")
	}
	for i, text := range l.cfg.AllowedOrigins {
		if path := diag.Index(diag.Join(l.cfg.path, "api.allowedOrigins"), i); strings.ContainsAny(text, "{}") {
			l.addAllowedOrigin(set, path, text, true)
		} else if err := CheckOrigin(text); err != nil {
			l.diags.Errorf(diag.Value(path), "%v", err).WithHint(originHint)
		}
	}
	for i, text := range job.AllowedOrigins {
		l.addAllowedOrigin(set, diag.Index(diag.Join(job.path, "allowedOrigins"), i), text, false)
	}
	if c := job.endpointSource; c.Source != "" {
		l.addAddressRule(set, RoleEndpoint, c.Source, job.Endpoint, c.Path)
	}
	if c := l.cfg.baseSource; c.Source != "" {
		l.addAddressRule(set, RoleBaseURL, c.Source, "", c.Path)
	}
	l.addComputedValues(set, "http.params", RoleParam, l.cfg.HTTP.Params, Sending{Common: true})
	common := slices.DeleteFunc(slices.Clone(l.cfg.HTTP.Headers), func(m Member) bool { _, own := job.Headers.Get(m.Name); return own })
	l.addComputedValues(set, "http.headers", RoleHeader, common, Sending{})
	l.addComputedValues(set, "params", RoleParam, job.Params, Sending{})
	l.addComputedValues(set, "body", RoleBody, job.Body, Sending{})
	l.addComputedValues(set, "headers", RoleHeader, job.Headers, Sending{})
}

// addAddress adds the rule for an address that holds expressions in braces. In an address without
// expressions, it replaces each doubled brace by a single brace. object is the config path of the object that
// has the address under key.
func (l *lowerer) addAddress(set *Ruleset, role Role, text *string, object, key string) {
	if !strings.ContainsAny(*text, "{}") {
		return
	}
	path := diag.Join(object, key)
	source, computed, err := addressSource(*text)
	switch {
	case err != nil:
		l.diags.Errorf(diag.Value(path), "%v", err).WithHint("write {{ for a brace that begins no expression")
	case computed:
		l.addAddressRule(set, role, source, *text, path)
	default:
		*text = sampleAddress(*text)
	}
}

const originHint = "write it like https://files.example.com"

// addAllowedOrigin adds the rule for an origin that links and redirects may point to. A common origin
// is the same for every job: its expression reads the inputs alone.
func (l *lowerer) addAllowedOrigin(set *Ruleset, path, text string, common bool) {
	source, _, err := addressSource(text)
	if err == nil {
		err = CheckOrigin(sampleBase(text))
	}
	if err != nil {
		l.diags.Errorf(diag.Value(path), "%v", err).WithHint(originHint)
		return
	}
	l.addAddressRule(set, RoleAllowedOrigin, source, text, path)
	rule := &set.Rules[len(set.Rules)-1]
	rule.ID, rule.Target, rule.Sending.Common = strings.TrimPrefix(path, set.Job.path+"."), text, common
}

// addAddressRule adds the rule that computes an address. text is the address as the configuration writes it.
func (l *lowerer) addAddressRule(set *Ruleset, role Role, source, text, path string) {
	set.Rules = append(set.Rules, Rule{
		ID: string(role), Role: role, Source: source, Sending: Sending{PerPartition: true},
		Clause: "is", ValueInWords: text, Origin: l.configured(path),
	})
}

// addComputedValues adds the rules for the computed values of an object. They are evaluated once for
// each partition; the placement says which requests have the values.
func (l *lowerer) addComputedValues(set *Ruleset, prefix string, role Role, object Object, placement Sending) {
	for _, m := range object {
		found := computedIn(m.Value)
		if found == nil {
			continue
		}
		sent, _ := m.Value.(Computed) // the value of incremental at a path in the body is part of an object
		placement.Since = sent.since
		placement.PerPartition, placement.Secret = true, slices.ContainsFunc(found, func(c Computed) bool { return c.Secret })
		set.Rules = append(set.Rules, Rule{
			ID: prefix + "." + m.Name, Role: role, Target: m.Name, Source: sourceOfValue(m.Value),
			Sending: placement, Clause: "is", Origin: l.configured(found[0].Path),
		})
	}
}
