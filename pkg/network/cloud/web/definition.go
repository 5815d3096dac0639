// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Definition is the compiled declaration of a cloud. It is immutable and safe for concurrent use.
type Definition struct {
	base               string
	files              files
	headers            []header
	bind, unbind, find *call
}

type header struct {
	name  string
	value *expression.Template
}

// call is one kind of request. Its conditions are nil if the document does not set them.
type call struct {
	name, method string
	path         *expression.Template
	body         *expression.Tree
	succeeded    *expression.Expression
	refused      *expression.Expression
	found        *expression.Expression
	answer       answer
	// refers means that the request contains the reference.
	refers bool
}

// Compile checks and compiles a declaration; n is the node of the field http, and path its path.
func Compile(spec v1alpha1.NetworkHTTP, n source.Node, path string) (*Definition, source.Findings) {
	c := &definitionParser{}
	d := &Definition{
		base:  c.base(spec.URL, n, path),
		files: files{ca: spec.CAFile.Value, cert: spec.CertFile.Value, key: spec.KeyFile.Value, token: spec.TokenFile.Value},
	}
	c.checkFiles(spec, d.base, n, path)
	compiled, err := newEnvironments()
	if err != nil {
		return nil, source.FindingsOf(n, path, err)
	}
	c.environments = compiled.bind
	d.headers = c.headers(spec, path+".headers")
	if spec.Bind == nil {
		c.add(n.Finding(path+".bind", "a cloud needs a call that binds").Of(source.MissingField))
	} else {
		d.bind = c.call("bind", spec.Bind.NetworkHTTPCall, n.Get("bind"), path+".bind")
		d.bind.answer = c.answer(spec.Bind.Answer, path+".bind.answer")
	}
	if spec.Find != nil {
		d.find = c.call("find", spec.Find.NetworkHTTPCall, n.Get("find"), path+".find")
		d.find.found = c.condition(spec.Find.Found, path+".find.found")
		if spec.Find.Answer != nil {
			d.find.answer = c.answer(*spec.Find.Answer, path+".find.answer")
		} else if d.bind != nil {
			d.find.answer = d.bind.answer
		}
	}
	c.environments = compiled.unbind
	if spec.Unbind == nil {
		c.add(n.Finding(path+".unbind", "a cloud needs a call that unbinds: without it, no allocation can be released").Of(source.MissingField))
	} else {
		d.unbind = c.call("unbind", *spec.Unbind, n.Get("unbind"), path+".unbind")
	}
	c.checkReference(d, n.Get("unbind"), path+".unbind")
	return d, c.findings
}

// definitionParser compiles the parts of a definition and collects findings.
type definitionParser struct {
	environments environments
	findings     source.Findings
}

func (c *definitionParser) add(all ...source.Finding) { c.findings = append(c.findings, all...) }

// base returns the URL without a trailing slash.
func (c *definitionParser) base(text source.Text, n source.Node, path string) string {
	path += ".url"
	if text.Value == "" {
		c.add(n.Finding(path, "a cloud needs the URL that the paths are added to").Of(source.MissingField))
		return ""
	}
	parsed, err := url.Parse(text.Value)
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http":
		c.add(text.At.Finding(path, "must be a URL such as https://fabric.example.com/v1").Of(source.WrongValue))
	case parsed.User != nil:
		c.add(text.At.Finding(path, "must not contain a user or a password: put a token into tokenFile").Of(source.WrongValue))
	case parsed.RawQuery != "" || parsed.Fragment != "" || strings.Contains(text.Value, "${"):
		c.add(text.At.Finding(path, "must be the base of all paths, without a query or expressions: write these in path").Of(source.WrongValue))
	}
	return strings.TrimRight(text.Value, "/")
}

func (c *definitionParser) checkFiles(spec v1alpha1.NetworkHTTP, base string, n source.Node, path string) {
	if (spec.CertFile.Value == "") != (spec.KeyFile.Value == "") {
		c.add(n.Finding(path, "certFile and keyFile must be set together").Of(source.MissingField))
	}
	if strings.HasPrefix(base, "https:") {
		return
	}
	for name, text := range map[string]source.Text{"caFile": spec.CAFile, "certFile": spec.CertFile} {
		if text.Value != "" {
			c.add(text.At.Finding(path+"."+name, "has no effect with an http URL: use https, or remove it").Of(source.WrongValue))
		}
	}
	if spec.TokenFile.Value != "" {
		c.add(spec.TokenFile.At.Finding(path+".tokenFile", "the token would be sent without encryption: use https").Of(source.WrongValue).Warn())
	}
}

// headerName matches the supported subset of header names in RFC 9110.
var headerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// reserved lists the headers that a document must not set.
var reserved = []string{
	"Authorization", "Connection", "Content-Length", "Content-Type", "Cookie", "Host", "Proxy-Authorization", "Transfer-Encoding", "Upgrade",
}

func (c *definitionParser) headers(spec v1alpha1.NetworkHTTP, path string) []header {
	var all []header
	for name, text := range spec.Headers {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !headerName.MatchString(name):
			c.add(text.At.Finding(path, "%q is not the name of a header", name).Of(source.InvalidName))
		case canonical == "Authorization":
			c.add(text.At.Finding(path, "must not contain a secret: put a token into tokenFile").Of(source.WrongValue))
		case slices.Contains(reserved, canonical):
			c.add(text.At.Finding(path, "%s is written by the server itself", canonical).Of(source.WrongValue))
		}
		all = append(all, header{canonical, c.template(text, path+"."+name)})
	}
	slices.SortFunc(all, func(a, b header) int { return strings.Compare(a.name, b.name) })
	return all
}

func (c *definitionParser) call(name string, spec v1alpha1.NetworkHTTPCall, n source.Node, path string) *call {
	made := &call{name: name, method: spec.Method}
	if spec.Method == "" {
		c.add(n.Finding(path+".method", "a call needs a method").Of(source.MissingField))
	}
	switch {
	case spec.Path.At.Node == nil:
		c.add(n.Finding(path+".path", "a call needs a path").Of(source.MissingField))
	case !strings.HasPrefix(spec.Path.Value, "/"):
		c.add(spec.Path.At.Finding(path+".path", "must begin with a slash").Of(source.WrongValue))
	case strings.Contains(spec.Path.Value, "#"):
		c.add(spec.Path.At.Finding(path+".path", "must have no #").Of(source.WrongValue))
	default:
		made.path = c.template(spec.Path, path+".path")
		c.checkHolder(made.path, spec.Path, path+".path")
	}
	if made.body = c.tree(spec.Body, path+".body", c.environments.request); made.body != nil && spec.Method == http.MethodGet {
		c.add(spec.Body.Finding(path+".body", "GET has no body").Of(source.WrongValue))
	}
	made.succeeded = c.condition(spec.Succeeded, path+".succeeded")
	made.refused = c.condition(spec.Refused, path+".refused")
	if made.path != nil {
		made.refers = slices.ContainsFunc(append(made.path.References(), made.body.References()...), func(name string) bool {
			return name == "reference" || strings.HasPrefix(name, "reference.")
		})
	}
	return made
}

// checkHolder reports a path that needs an optional field of the caller: without it, the call cannot be made. It
// ignores expressions with has(), and queries, which need no value.
func (c *definitionParser) checkHolder(made *expression.Template, text source.Text, path string) {
	if made == nil || strings.Contains(text.Value, "has(") {
		return
	}
	before, _, _ := strings.Cut(text.Value, "?")
	for _, name := range made.References() {
		if rest, is := strings.CutPrefix(name, "allocation.holder."); is && rest != "kind" && strings.Contains(before, name) {
			finding := text.At.Finding(path, "%s may be empty, and then the call is not sent: use allocation.id, which is never empty", name)
			c.add(finding.Of(source.WrongValue).Warn())
		}
	}
}

// checkReference reports an unbind that uses a reference which no response defines.
func (c *definitionParser) checkReference(d *Definition, n source.Node, path string) {
	if d.bind == nil || d.unbind == nil || !d.unbind.refers || d.bind.answer["reference"] != nil {
		return
	}
	c.add(n.Finding(path, "uses reference, which bind.answer does not set").Of(source.MissingField))
}

func (c *definitionParser) template(text source.Text, path string) *expression.Template {
	made, findings := c.environments.request.TemplateOf(text, path)
	c.add(findings...)
	return made
}

func (c *definitionParser) condition(text source.Text, path string) *expression.Expression {
	made, findings := c.environments.answer.ConditionOf(text, path, "a condition is one expression in braces, such as ${ status == 200 }")
	c.add(findings...)
	return made
}

// tree compiles a value. It returns nil for an absent one.
func (c *definitionParser) tree(n source.Node, path string, in *expression.Environment) *expression.Tree {
	if n.Node == nil {
		return nil
	}
	made, findings := expression.NewTree(in, n, path)
	c.add(findings...)
	return made
}

// Types of an allocation in expressions. Empty fields are unset: has() is false, and they read as "" or 0.
var (
	holderObject = expression.NewObjectType("graft.Holder", map[string]*cel.Type{
		"kind": cel.StringType, "namespace": cel.StringType, "name": cel.StringType, "uid": cel.StringType, "node": cel.StringType, "device": cel.StringType,
	})
	allocationObject = expression.NewObjectType("graft.Allocation", map[string]*cel.Type{
		"id": cel.StringType, "owner": cel.StringType, "contract": cel.StringType, "pool": cel.StringType, "addresses": cel.ListType(cel.StringType),
		"mac": cel.StringType, "vlan": cel.IntType, "node": cel.StringType, "parent": cel.StringType, "holder": holderObject.Type(),
	}, holderObject)
)

// environments compile the expressions of a call: request those of the request, answer those of its response.
type environments struct {
	request, answer *expression.Environment
}

// newEnvironments returns the environments of calls that bind and find, and of calls that unbind, which know the reference.
var newEnvironments = sync.OnceValues(func() (all struct{ bind, unbind environments }, err error) {
	if all.bind.request, err = expression.NewEnvironment(expression.Variable{Name: "allocation", Object: allocationObject}); err != nil {
		return all, err
	}
	answered := []expression.Variable{
		{Name: "status", Type: cel.IntType}, {Name: "answer", Type: cel.DynType}, {Name: "headers", Type: cel.MapType(cel.StringType, cel.StringType)},
	}
	if all.bind.answer, err = all.bind.request.Extend(answered...); err != nil {
		return all, err
	}
	if all.unbind.request, err = all.bind.request.Extend(expression.Variable{Name: "reference", Type: cel.DynType}); err != nil {
		return all, err
	}
	all.unbind.answer, err = all.unbind.request.Extend(answered...)
	return all, err
})
