package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/detect"
)

// starterName is the file that init writes by default.
const starterName = "stopwhen.yaml"

func newInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a configuration to start from",
		Long: `Write a configuration with comments, by default to ` + starterName + `. It
works as it is: its test passes, and it can be explained. A file that exists is
not overwritten. A name that ends with .json gets JSON, which has no comments.`,
		Example: `  stopwhen init
  stopwhen init users.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &usageError{fmt.Sprintf("want one file, got %d arguments", len(args))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path := starterName
			if len(args) > 0 {
				path = args[0]
			}
			return a.init(path)
		},
	}
}

func (a *app) init(path string) error {
	text := starterYAML
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
	case ".json":
		text = starterJSON
	default:
		if path != "-" {
			return &usageError{fmt.Sprintf("%s: want a name that ends with .yaml, .yml or .json", path)}
		}
	}
	if path == "-" {
		return a.writeText(text)
	}
	if err := checkNew(path); err != nil {
		return err
	}
	if err := writeNew(path, []byte(text)); err != nil {
		return err
	}
	return a.writeText(fmt.Sprintf(`wrote %[1]s

Next:
  stopwhen schema > %[2]s   # for completion in the editor
  stopwhen test %[1]s       # its test passes; change both together
  stopwhen explain %[1]s    # what it would request, and when it would stop
  stopwhen run %[1]s --max-pages 3

Is there an address that answers with a list? stopwhen detect URL writes a
configuration for it.
`, path, strings.TrimPrefix(detect.SchemaFile, "./")))
}

const starterYAML = `# yaml-language-server: $schema=./stopwhen.schema.json
#
# The schema: stopwhen schema > stopwhen.schema.json
$schema: ./stopwhen.schema.json

api:
  # Endpoints are relative to this address.
  baseUrl: https://api.example.com/v1/

  # Credentials come from the environment: stopwhen run --env API_TOKEN
  # authentication:
  #   type: bearer
  #   "#token": {env: API_TOKEN}

  # Where the next page comes from, and when the list ends. Here the response has a
  # value at paging.next, which the next request sends as the parameter cursor; a
  # response without it is the last one.
  pagination:
    method: response.param
    responseParam: paging.next
    queryParam: cursor
    includeParams: true # send limit with every request

config:
  jobs:
    - endpoint: users
      params:
        limit: 100
      # Where the response has the list of items.
      dataField: data

# stopwhen test runs these without a network.
tests:
  - name: follows the cursor until there is none
    pages:
      - {"data": [{"id": 1}, {"id": 2}], "paging": {"next": "c2"}}
      - {"data": [{"id": 3}], "paging": {"next": null}}
    expect:
      outcome: complete
      items: 3
      requests:
        - GET /v1/users?limit=100
        - GET /v1/users?limit=100&cursor=c2
`

const starterJSON = `{
  "$schema": "./stopwhen.schema.json",
  "api": {
    "baseUrl": "https://api.example.com/v1/",
    "pagination": {
      "method": "response.param",
      "responseParam": "paging.next",
      "queryParam": "cursor",
      "includeParams": true
    }
  },
  "config": {
    "jobs": [{"endpoint": "users", "params": {"limit": 100}, "dataField": "data"}]
  },
  "tests": [
    {
      "name": "follows the cursor until there is none",
      "pages": [
        {"data": [{"id": 1}, {"id": 2}], "paging": {"next": "c2"}},
        {"data": [{"id": 3}], "paging": {"next": null}}
      ],
      "expect": {
        "outcome": "complete",
        "items": 3,
        "requests": ["GET /v1/users?limit=100", "GET /v1/users?limit=100&cursor=c2"]
      }
    }
  ]
}
`
