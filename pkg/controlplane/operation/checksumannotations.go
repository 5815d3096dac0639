// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// checksumAnnotations sets annotations of the pod template to the checksums of Secrets and ConfigMaps, so that the pods are
// replaced when they change. The checksum is the one that Gardener and its extensions write into checksum/secret-x.
func checksumAnnotations() Definition {
	return Definition{
		Name: "checksumAnnotations",
		Summary: "sets annotations of the pod template to the checksum of a Secret or ConfigMap in the shoot's namespace, so that its " +
			"changes restart the pods; it needs no lookup",
		Example:  "checksumAnnotations: {set: {checksum/secret-cloudprovider: {secret: cloudprovider}}, remove: [checksum/secret-old]}",
		Examples: []string{"checksumAnnotations: {set: {checksum/configmap-extra: {configMap: acme-extra, optional: true}}}"},
		Arguments: setAndRemove("annotations", mappingOf(members(
			Argument{Name: "secret", Type: longText, Summary: "the Secret; exactly one of secret and configMap is required"},
			Argument{Name: "configMap", Type: longText, Summary: "the ConfigMap"},
			Argument{Name: "optional", Type: boolean, Summary: "if the object is missing: true removes the annotation, false (the default) denies the admission"},
		))),
		Parts:   target.PodTemplate,
		Lookups: checksumLookups,
		Compile: compileChecksums,
	}
}

// checksumSource names the object that a checksum annotation describes.
type checksumSource struct {
	Secret    source.Text `json:"secret"`
	ConfigMap source.Text `json:"configMap"`
	Optional  bool        `json:"optional"`
}

var noIdentifier = regexp.MustCompile(`[^A-Za-z0-9]+`)

// lookup returns the lookup that reads the checksum, with its name. The name contains the text of the object name,
// which may contain ${ }, so that different lookups have different names.
func (s checksumSource) lookup() (string, v1alpha1.Lookup) {
	kind, object := "secret_", s.Secret.Value
	if object == "" {
		kind, object = "configmap_", s.ConfigMap.Value
	}
	if s.Optional {
		kind += "optional_"
	}
	name := noIdentifier.ReplaceAllString(object, "_")
	if name != object {
		sum := sha256.Sum256([]byte(object))
		name += "_" + hex.EncodeToString(sum[:4])
	}
	return "checksum_" + kind + name, v1alpha1.Lookup{Secret: s.Secret, ConfigMap: s.ConfigMap, Checksum: true, Optional: s.Optional}
}

// checksumLookups returns the lookups that the arguments need.
func checksumLookups(arguments source.Node) map[string]v1alpha1.Lookup {
	var a struct {
		Set    map[string]checksumSource `json:"set"`
		Remove []source.Node             `json:"remove"`
	}
	if len(source.Decode(arguments, "", &a)) > 0 {
		return nil
	}
	lookups := map[string]v1alpha1.Lookup{}
	for _, s := range a.Set {
		if (s.Secret.Value == "") != (s.ConfigMap.Value == "") {
			name, lookup := s.lookup()
			lookups[name] = lookup
		}
	}
	return lookups
}

func compileChecksums(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	return compiler{
		place: Place{Kind: PodAnnotation},
		value: c.with(compileChecksum),
		check: checkKey,
		apply: func(o *target.Object, key string, v Resolved) error {
			metadata, err := podMetadata(o)
			if err != nil {
				return err
			}
			return setKey(metadata, "annotations", key, Resolved{Texts: v.Texts, Absent: v.Text() == ""})
		},
		keep: func(key string) func(*target.Object) error { return podAnnotationsPath.with(key).keep },
	}.compileEdits(arguments, path)
}

// compileChecksum returns the value of a lookup, which is empty if an optional object is missing.
func compileChecksum(c *Context, n source.Node, path string) (Value, source.Findings) {
	var s checksumSource
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return Value{}, source.Findings{n.Finding(path, "must be a mapping with secret or configMap").Of(source.WrongType)}
	}
	findings := source.Decode(n, path, &s)
	if (s.Secret.Value == "") == (s.ConfigMap.Value == "") && len(findings) == 0 {
		findings = append(findings, n.Finding(path, "exactly one of secret and configMap is needed").Of(source.ExclusiveFields))
	}
	for _, name := range []source.Text{s.Secret, s.ConfigMap} {
		if name.Value == "" || len(findings) > 0 {
			continue
		}
		_, problems := c.Text(name.At, path)
		findings = append(findings, problems...)
	}
	if len(findings) > 0 {
		return Value{}, findings
	}
	lookup, _ := s.lookup()
	text := "${ lookups." + lookup + ".checksum }"
	if s.Optional {
		text = "${ lookups.?" + lookup + `.?checksum.orValue("") }`
	}
	return c.Text(source.Node{Node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: n.Line, Column: n.Column}, File: n.File}, path)
}
