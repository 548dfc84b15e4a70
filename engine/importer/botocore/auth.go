package botocore

import (
	"cmp"
	"slices"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/value"
)

// usEast is the region of services that have one address for all regions.
const usEast = "us-east-1"

// credentials sets the authentication: Signature Version 4, or a bearer token.
func (t *translation) credentials() {
	m := t.service.Metadata
	switch {
	case t.operation.AuthType == "none" || slices.Contains(t.operation.Auth, "smithy.api#noAuth"):
		return
	case m.SignatureVersion == "bearer":
		token := t.input("text", importer.Input{Name: "token", Doc: "bearer token", Secret: true, Place: "metadata.signatureVersion"})
		t.out.Auth = []importer.Member{
			{Name: "type", Value: importer.Constant("bearer")}, {Name: "#token", Value: importer.Computed(token)}}
		return
	case m.SignatureVersion == "v2":
		t.note(importer.Credentials, "metadata.signatureVersion", "api.authentication",
			"Signature Version 2 is not translated; write it with authentication of type sign")
		return
	}
	region := importer.Computed("input.region")
	if name, set := t.set.Get("region"); set {
		region = importer.Constant(name)
	} else if m.GlobalEndpoint != "" && m.EndpointPrefix != "s3" {
		region = importer.Constant(usEast)
	}
	session := t.input("text", importer.Input{
		Name: "session_token", Doc: "session token of temporary credentials", Optional: true, Secret: true,
	})
	t.out.Auth = []importer.Member{
		{Name: "type", Value: importer.Constant("aws4")},
		{Name: "region", Value: region},
		{Name: "service", Value: importer.Constant(cmp.Or(m.SigningName, m.EndpointPrefix))},
		{Name: "accessKeyId", Value: environment("AWS_ACCESS_KEY_ID")},
		{Name: "#secretAccessKey", Value: environment("AWS_SECRET_ACCESS_KEY")},
		{Name: "#sessionToken", Value: importer.Computed(session)},
	}
}

// environment returns a value that a run reads from the environment.
func environment(name string) importer.Value {
	return importer.Constant(value.ObjectOf("env", name))
}
