// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Definition is the compiled declaration of a cloud. It is immutable and safe for concurrent use.
type Definition struct {
	base               string
	certificates       serving.CertificateFiles
	tokenFile          string
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

// Compile checks and compiles a declaration; p is the place of the field http.
func Compile(spec v1alpha1.NetworkHTTP, p source.Place) (*Definition, source.Findings) {
	c := &definitionParser{}
	d := &Definition{
		base:         c.base(spec.URL.Value, p.At("url")),
		certificates: serving.CertificateFiles{CertFile: spec.CertFile.Value, KeyFile: spec.KeyFile.Value, CAFile: spec.CAFile.Value},
		tokenFile:    spec.TokenFile.Value,
	}
	c.checkFiles(d, p)
	compiled, err := newEnvironments()
	if err != nil {
		return nil, source.FindingsOf(p.Node, p.Path, err)
	}
	c.environments = compiled.bind
	d.headers = c.headers(spec.Headers, p.At("headers"))
	if bind := p.At("bind"); spec.Bind == nil {
		c.Add(bind, source.MissingField, "a cloud needs a call that binds")
	} else {
		d.bind = c.call("bind", spec.Bind.NetworkHTTPCall, bind)
		d.bind.answer = c.answer(bind.At("answer"))
	}
	if find := p.At("find"); spec.Find != nil {
		d.find = c.call("find", spec.Find.NetworkHTTPCall, find)
		d.find.found = c.condition(spec.Find.Found, find.At("found"))
		if spec.Find.Answer != nil {
			d.find.answer = c.answer(find.At("answer"))
		} else if d.bind != nil {
			d.find.answer = d.bind.answer
		}
	}
	c.environments = compiled.unbind
	unbind := p.At("unbind")
	if spec.Unbind == nil {
		c.Add(unbind, source.MissingField, "a cloud needs a call that unbinds: without it, no allocation can be released")
		return d, c.Findings
	}
	d.unbind = c.call("unbind", *spec.Unbind, unbind)
	if d.bind != nil && d.unbind.refers && d.bind.answer["reference"] == nil {
		c.Add(unbind, source.MissingField, "uses reference, which bind.answer does not set")
	}
	return d, c.Findings
}

// definitionParser compiles the parts of a definition and collects findings.
type definitionParser struct {
	environments environments
	source.Findings
}

// base returns the URL without a trailing slash.
func (c *definitionParser) base(text string, p source.Place) string {
	if text == "" {
		c.Add(p, source.MissingField, "a cloud needs the URL that the paths are added to")
		return ""
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http":
		c.Add(p, source.WrongValue, "must be a URL such as https://fabric.example.com/v1")
	case parsed.User != nil:
		c.Add(p, source.WrongValue, "must not contain a user or a password: put a token into tokenFile")
	case parsed.RawQuery != "" || parsed.Fragment != "" || strings.Contains(text, "${"):
		c.Add(p, source.WrongValue, "must be the base of all paths, without a query or expressions: write these in path")
	}
	return strings.TrimRight(text, "/")
}

func (c *definitionParser) checkFiles(d *Definition, p source.Place) {
	if (d.certificates.CertFile == "") != (d.certificates.KeyFile == "") {
		c.Add(p, source.MissingField, "certFile and keyFile must be set together")
	}
	if strings.HasPrefix(d.base, "https:") {
		return
	}
	for _, name := range []string{"caFile", "certFile"} {
		if at := p.At(name); !at.Absent() {
			c.Add(at, source.WrongValue, "has no effect with an http URL: use https, or remove it")
		}
	}
	if at := p.At("tokenFile"); !at.Absent() {
		c.Findings = append(c.Findings, at.FindingOf(source.WrongValue, "the token would be sent without encryption: use https").Warn())
	}
}

// headerName matches the supported subset of header names in RFC 9110.
var headerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// reserved lists the headers that a document must not set.
var reserved = []string{
	"Authorization", "Connection", "Content-Length", "Content-Type", "Cookie", "Host", "Proxy-Authorization", "Transfer-Encoding", "Upgrade",
}

func (c *definitionParser) headers(spec map[string]source.Text, p source.Place) []header {
	var all []header
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		canonical, at := http.CanonicalHeaderKey(name), p.At(name)
		switch {
		case !headerName.MatchString(name):
			c.Add(at, source.InvalidName, "%q is not the name of a header", name)
		case slices.Contains(reserved, canonical):
			c.Add(at, source.WrongValue, "%s is written by the server itself; put a token into tokenFile", canonical)
		}
		all = append(all, header{canonical, c.template(spec[name], at)})
	}
	return all
}

func (c *definitionParser) call(name string, spec v1alpha1.NetworkHTTPCall, p source.Place) *call {
	made := &call{name: name, method: spec.Method}
	if spec.Method == "" {
		c.Add(p.At("method"), source.MissingField, "a call needs a method")
	}
	switch path := p.At("path"); {
	case spec.Path.At.Node == nil:
		c.Add(path, source.MissingField, "a call needs a path")
	case !strings.HasPrefix(spec.Path.Value, "/"):
		c.Add(path, source.WrongValue, "must begin with a slash")
	case strings.Contains(spec.Path.Value, "#"):
		c.Add(path, source.WrongValue, "must have no #")
	default:
		made.path = c.template(spec.Path, path)
		c.checkHolder(made.path, spec.Path.Value, path)
	}
	if made.body = c.tree(p.At("body"), c.environments.request); made.body != nil && spec.Method == http.MethodGet {
		c.Add(p.At("body"), source.WrongValue, "GET has no body")
	}
	made.succeeded = c.condition(spec.Succeeded, p.At("succeeded"))
	made.refused = c.condition(spec.Refused, p.At("refused"))
	if made.path != nil {
		made.refers = slices.ContainsFunc(append(made.path.References(), made.body.References()...), func(name string) bool {
			return name == "reference" || strings.HasPrefix(name, "reference.")
		})
	}
	return made
}

// checkHolder reports a path that needs an optional field of the caller: without it, the call cannot be made. It
// ignores expressions with has(), and queries, which need no value.
func (c *definitionParser) checkHolder(made *expression.Template, text string, p source.Place) {
	if made == nil || strings.Contains(text, "has(") {
		return
	}
	before, _, _ := strings.Cut(text, "?")
	for _, name := range made.References() {
		if rest, is := strings.CutPrefix(name, "allocation.holder."); is && rest != "kind" && strings.Contains(before, name) {
			c.Findings = append(c.Findings, p.FindingOf(source.WrongValue,
				"%s may be empty, and then the call is not sent: use allocation.id, which is never empty", name).Warn())
		}
	}
}

func (c *definitionParser) template(text source.Text, p source.Place) *expression.Template {
	made, findings := c.environments.request.TemplateOf(text, p.Path)
	c.Findings = append(c.Findings, findings...)
	return made
}

func (c *definitionParser) condition(text source.Text, p source.Place) *expression.Expression {
	made, findings := c.environments.answer.ConditionOf(text, p.Path, "a condition is one expression in braces, such as ${ status == 200 }")
	c.Findings = append(c.Findings, findings...)
	return made
}

// tree compiles a value. It returns nil for an absent one.
func (c *definitionParser) tree(p source.Place, in *expression.Environment) *expression.Tree {
	if p.Missing {
		return nil
	}
	made, findings := expression.NewTree(in, p.Node, p.Path)
	c.Findings = append(c.Findings, findings...)
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
