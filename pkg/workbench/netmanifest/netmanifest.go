// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package netmanifest writes what goes with a NetworkProfile on the side of those that ask the network provider: Spiderpool's objects for a pool,
// the Helm values of Spiderpool and of DRANET, and the files by which Docker finds a driver.
//
// It reads no files and asks no cluster; flags are cmd/graft's business. Enter at Spiderpool.
package netmanifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options say for what manifests are.
type Options struct {
	// Pool is the name of the pool; that of the only one that will do when empty.
	Pool string
	// Name is that of the objects, and Namespace that of the SpiderMultusConfig. The name of the pool when empty.
	Name, Namespace string
	// Master is the interface of the nodes that carries the VLANs.
	Master string
	// ServerURL is where Spiderpool asks the provider.
	ServerURL string
	// Version is that of Spiderpool.
	Version *semver.Version
	// IPs are the addresses that Spiderpool is to give, of those of the pool; nil: all that the pool gives to anybody.
	IPs *netipx.IPSet
}

// The versions of Spiderpool: the first that knows the contract, the first in which a VLAN network says that its VLAN is to be asked for, and the
// first of which nothing is known here.
var (
	firstVersion   = semver.MustParse("1.2.0")
	autoVersion    = semver.MustParse("1.2.1")
	unknownVersion = semver.MustParse("1.3.0-0")
)

// unknown warns of a version that is newer than what is known here.
func unknown(v *semver.Version) []string {
	if v.LessThan(unknownVersion) {
		return nil
	}
	return []string{"This is what Spiderpool 1.2.2 wants: later versions may want something else."}
}

// maximumInterface is the longest name of an interface in Linux.
const maximumInterface = 15

// check finds what is wrong with the options beside the pool.
func (o *Options) check() error {
	// The names of the pools are longer.
	if problems := validation.IsDNS1123Subdomain(o.Name + "-v4"); len(problems) > 0 {
		return fmt.Errorf("the name %q is none for objects: %s", o.Name, problems[0])
	}
	if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		return fmt.Errorf("the namespace %q is none: %s", o.Namespace, problems[0])
	}
	switch {
	case o.Master == "":
		return errors.New("the interface of the nodes that carries the VLANs must be named: give --master")
	case len(o.Master) > maximumInterface || strings.ContainsAny(o.Master, "/ \t\n:"):
		return fmt.Errorf("%q is no name of an interface", o.Master)
	}
	return checkVersion(o.Version)
}

func checkVersion(v *semver.Version) error {
	if v.LessThan(firstVersion) {
		return fmt.Errorf("version %s of Spiderpool asks no network provider; %s is the first that does", v, firstVersion)
	}
	return nil
}

// poolOf is the pool that is meant.
func poolOf(p *policy.Policy, name string) (*policy.Pool, error) {
	names := slices.Sorted(maps.Keys(p.Pools))
	if name != "" {
		if pool := p.Pool(name); pool != nil {
			return pool, nil
		}
		return nil, fmt.Errorf("there is no pool %q%s", name, source.Suggest(name, names))
	}
	var fit []string
	for _, name := range names {
		if suits(p, p.Pool(name)) == nil {
			fit = append(fit, name)
		}
	}
	switch {
	case len(fit) == 1:
		return p.Pool(fit[0]), nil
	case len(fit) > 1:
		return nil, fmt.Errorf("name one of the pools with --pool: %s", strings.Join(fit, ", "))
	case len(names) == 1:
		return p.Pool(names[0]), nil
	default:
		return nil, errors.New("no pool will do for Spiderpool: it needs subnets and VLANs; name one with --pool to learn what is missing")
	}
}

// suits says why a pool will not do: Spiderpool chooses the addresses itself, and its interfaces are VLANs.
func suits(p *policy.Policy, pool *policy.Pool) error {
	spec, declared := p.Clouds[pool.Cloud]
	if len(pool.Subnets) == 0 {
		return fmt.Errorf("the pool %s leaves the choice of addresses to its cloud %s, and Spiderpool makes that choice itself: give the pool subnets",
			pool.Name, pool.Cloud)
	}
	if pool.LastVLAN > 0 || declared && spec.HTTP != nil && spec.HTTP.Bind != nil && spec.HTTP.Bind.Answer.VLAN.Value != "" {
		return nil
	}
	return fmt.Errorf("the pool %s gives no VLANs, and each interface that Spiderpool makes is one: give the pool vlans, such as 100-4000, "+
		"or a cloud that answers one", pool.Name)
}

// CheckURL says what is wrong with the URL of a provider, by Spiderpool's own rules: scheme, host and port.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%q must be a URL such as http://graft-network-provider.graft-system.svc:80", text)
	case u.Port() == "":
		return fmt.Errorf("%q must name the port, such as :80 or :8443", text)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("%q must have scheme, host, port, and at most a path", text)
	}
	return nil
}

// write writes documents of YAML behind a comment.
func write(comment []string, documents ...any) ([]byte, error) {
	var out bytes.Buffer
	for _, line := range comment {
		fmt.Fprintln(&out, strings.TrimRight("# "+line, " "))
	}
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, document := range documents {
		if err := encoder.Encode(document); err != nil {
			return nil, fmt.Errorf("writing YAML: %w", err)
		}
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return out.Bytes(), nil
}
