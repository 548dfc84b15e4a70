package rules

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// jobs reads the jobs of config. With iterations, it reads the jobs of each of them, one after another.
func (k *keboolaConfig) jobs(s settings) {
	api, path := s.inner("api"), diag.Join(k.cfg.path, "config")
	if len(k.iterations) == 0 {
		k.readIteration(s.inner("config"), k.config, api)
		return
	}
	attributes := k.attributes
	for i, override := range k.iterations {
		config := k.config.Merge(override)
		k.attributes = k.newAttributes(config.Without("jobs"), func(name string) string {
			if slices.ContainsFunc(flatten("", override), func(m Member) bool { return m.Name == name }) {
				return fmt.Sprintf("iterations[%d].%s", i, name)
			}
			return name
		})
		from := len(k.cfg.Jobs)
		k.readIteration(k.object(path, k.known(config), configFields), config, api)
		for at := from; at < len(k.cfg.Jobs); at++ {
			if job := &k.cfg.Jobs[at]; job.ID != "" {
				job.ID = fmt.Sprintf("%s#%d", job.ID, i+1)
			}
		}
	}
	k.attributes = attributes
}

// readIteration reads the jobs of one config, from its settings and the object that they were read
// from. Of several equal jobs without an id only the first is run, as in the reference implementation,
// which stores jobs under the hash of their text.
func (k *keboolaConfig) readIteration(config settings, raw Object, api settings) {
	var common Job
	if len(k.iterations) > 0 {
		for _, headers := range []setting{api.get("http.headers"), api.get("http.defaultOptions.headers"), config.get("http.headers")} {
			k.decoder.readHeaders(k.evaluated(headers, nil), &common.Headers, &common.SecretHeaders)
		}
		k.addBasic(&common, config)
	}
	list, _ := raw.Get("jobs")
	written, _ := list.([]any)
	for _, element := range config.get("jobs").list() {
		if repeats(written, config.get("jobs").path(), element.path()) {
			continue
		}
		jobSettings, _ := element.settings()
		job := k.job(jobSettings, api)
		k.checkResponse(&job, jobSettings)
		job.Fields = append(k.userData(config.get("userData"), jobSettings.get("userData")), job.Fields...)
		job.Headers = common.Headers.Merge(job.Headers)
		job.SecretHeaders = append(job.SecretHeaders, common.SecretHeaders...)
		first := len(k.cfg.Jobs)
		k.addChildren(job, jobSettings, api, ancestors{})
		k.shareTimes(&k.cfg.Jobs[first])
	}
}

// repeats reports whether the job at a path equals an earlier job of a list.
func repeats(jobs []any, list, path string) bool {
	for i, job := range jobs {
		if diag.Index(list, i) == path {
			return slices.ContainsFunc(jobs[:i], func(had any) bool { return reflect.DeepEqual(had, job) })
		}
	}
	return false
}

// userData returns the members that userData adds to the items of a job. The userData of the job
// overrides the userData of config.
func (k *keboolaConfig) userData(config, job setting) []ItemField {
	times := k.times("state." + startVariable)
	f := k.functions(times)
	var fields []ItemField
	for _, row := range []struct {
		setting
		name string // the name of the member if the value is not an object
	}{{config, "userData"}, {job, "job_parent_id"}} {
		if php.EmptyConfig(row.Value) {
			continue
		}
		data, isObject := value.Members(row.Value)
		if !isObject {
			data = Object{{Name: row.name, Value: row.Value}}
		}
		for _, m := range data {
			source, _ := f.source(diag.Join(row.path(), m.Name), m.Value)
			fields = withMember(fields, m.Name, source, diag.Join(row.path(), m.Name))
		}
	}
	return fields
}

// withMember returns fields with a member of items, which replaces a field of its name.
func withMember(fields []ItemField, name, source, path string) []ItemField {
	field := ItemField{Name: name, Keys: []string{name}, Source: source, path: path}
	i := slices.IndexFunc(fields, func(had ItemField) bool { return had.Name == name })
	if i < 0 {
		return append(fields, field)
	}
	fields[i] = field
	return fields
}

// addBasic adds the credentials of type basic that an iteration has, as a header of its jobs.
func (k *keboolaConfig) addBasic(job *Job, config settings) {
	if !k.ownBasic {
		return
	}
	var name, password string
	for key, into := range map[string]*string{"username": &name, "#password": &password} {
		if entry := config.get(key); entry.given() && !entry.Invalid {
			*into, _ = k.secret(entry.path(), entry.Value, key != "username")
		}
	}
	if name == "" || password == "" {
		k.diags.Errorf(diag.Value(diag.Join(k.cfg.path, "config")), "authentication of type basic needs username and #password")
		return
	}
	pair := name + ":" + password
	encoded := base64.StdEncoding.EncodeToString([]byte(pair))
	k.hide(pair, encoded)
	job.Headers = job.Headers.Merge(Object{{Name: "Authorization", Value: "Basic " + encoded}})
	job.SecretHeaders = append(job.SecretHeaders, "Authorization")
}
