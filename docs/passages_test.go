// Package docs generates the parts of the documentation that follow from the code:
// the tables of docs/reference, the cookbook, and the counts and lists within other
// pages.
//
// A generated part is a marked passage: the text between <!-- name --> and
// <!-- /name -->. A test compares the passages with the code, and
// `go test ./docs -update` rewrites them.
package docs

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
)

// passages generate the texts of the marked passages, by name.
var passages = map[string]func() (string, error){
	"cases":            caseCount,
	"apis":             apiCount,
	"methods":          methodNames,
	"config-sections":  configSections,
	"method-sections":  methodSections,
	"expression-names": expressionNames,
	"functions":        functionTable,
	"behaviours":       behaviourTable,
	"stressed-methods": stressedMethods,
	"stress-keys":      func() (string, error) { return keyTable("the output", reflect.TypeFor[stress.Report]()) },
	"recipe-table":     recipeTable,
	"recipes":          func() (string, error) { return recipeSections(zooFolder) },
	"complete":         completeCount,
	"complete-table":   completeTable,
	"complete-recipes": func() (string, error) { return recipeSections(completeFolder) },
	"trace-keys":       func() (string, error) { return keyTable("a line", reflect.TypeFor[engine.Record]()) },
	"result-keys":      func() (string, error) { return keyTable("the file", reflect.TypeFor[engine.Result]()) },
	"detect-table":     func() (string, error) { return detectResult("apis.md") },
	"explain-keys":     func() (string, error) { return keyTable("the output", explanationType) },
	"detect-recorded":  func() (string, error) { return detectResult("recordings.md") },
	"detect-servers":   func() (string, error) { return detectResult("servers.md") },
	"hub-accounts":     hubAccounts,
}

var mark = regexp.MustCompile(`<!-- (/?[a-z-]+) -->`)

// fill rewrites the marked passages of a page.
func fill(page string) (string, error) {
	b := &strings.Builder{}
	end := 0 // of the previous passage
	marks := mark.FindAllStringSubmatchIndex(page, -1)
	nameOf := func(at []int) string { return page[at[2]:at[3]] }
	for ; len(marks) > 0; marks = marks[2:] {
		name := nameOf(marks[0])
		write, known := passages[name]
		if !known || len(marks) == 1 || nameOf(marks[1]) != "/"+name {
			return "", fmt.Errorf("mark %q is unknown, or does not have its counterpart", name)
		}
		text, err := write()
		if err != nil {
			return "", err
		}
		if strings.Contains(text, "\n") { // a separate block
			text = "\n\n" + strings.TrimSpace(text) + "\n\n"
		}
		b.WriteString(page[end:marks[0][1]] + text)
		end = marks[1][0]
	}
	b.WriteString(page[end:])
	return b.String(), nil
}

// hubAccounts shows the file with accounts and permissions that a test of
// engine/cluster/hub proves.
func hubAccounts() (string, error) {
	text, err := os.ReadFile("../engine/cluster/hub/testdata/accounts.conf")
	return "```conf\n" + string(text) + "```", err
}

// detectResult shows what a test of engine/detect made of the APIs of the zoo.
func detectResult(file string) (string, error) {
	text, err := os.ReadFile("../engine/detect/testdata/" + file)
	return strings.TrimSpace(string(text)), err
}

func caseCount() (string, error) {
	cases, err := fixtures.All()
	return strconv.Itoa(len(cases)), err
}

func apiCount() (string, error) {
	recipes, err := loadRecipes(zooFolder)
	return strconv.Itoa(len(recipes)), err
}

func completeCount() (string, error) {
	recipes, err := loadRecipes(completeFolder)
	return strconv.Itoa(len(recipes)), err
}

// methodNames lists the methods of the default dialect.
func methodNames() (string, error) {
	var names []string
	for _, m := range rules.Builtin().Methods(rules.Spec) {
		names = append(names, "`"+m.Name+"`")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last], nil
}
