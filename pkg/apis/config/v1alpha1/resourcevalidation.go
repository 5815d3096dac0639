// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// validate implements configuration.
func (c *ResourceInterpreterConfiguration) validate(root source.Node) source.Findings {
	v := validator{root: root}
	v.address(false, c.Server.Address, "server", "address")
	v.address(true, c.Metrics.Address, "metrics", "address")
	v.debugging(c.Debugging)
	v.paths(c.Profiles.Paths)
	if len(c.Profiles.Optional) > 0 && c.Profiles.Gardener != nil && !*c.Profiles.Gardener {
		v.add("needs profiles.gardener", "profiles", "optional")
	}
	v.certificate(&c.Certificate)
	if c.Registration != nil {
		v.registration(c.Registration)
	}
	return v.findings
}

// certificate reports conflicting sources, and lifetimes that leave no time for a rotation.
func (v *validator) certificate(c *InterpreterCertificate) {
	if c.Sources() > 1 {
		v.add("exactly one of files, secret and folder is needed", "certificate")
	}
	if f := c.Files; f != nil && (f.CertFile == "" || f.KeyFile == "") {
		v.add("needs certFile and keyFile", "certificate", "files")
	}
	for i, node := range find(v.root, "certificate", "dnsNames").Items() {
		if err := CheckDNSName(c.DNSNames[i]); err != nil {
			v.at(node, fmt.Sprintf("certificate.dnsNames[%d]", i), err.Error())
		}
	}
	for i, node := range find(v.root, "certificate", "ipAddresses").Items() {
		if _, err := netip.ParseAddr(c.IPAddresses[i]); err != nil {
			v.at(node, fmt.Sprintf("certificate.ipAddresses[%d]", i), "must be an address such as 10.0.0.1 or fd00::1")
		}
	}
	full := ResourceInterpreterConfiguration{Certificate: *c}
	full.Default()
	if err := full.Certificate.CheckLifetimes(); err != nil {
		v.add(err.Error(), "certificate")
	}
}

// Sources returns the number of configured sources of the certificate; exactly one is valid.
func (c *InterpreterCertificate) Sources() int {
	count := 0
	for _, there := range []bool{c.Files != nil, c.Secret != nil, c.Folder != ""} {
		if there {
			count++
		}
	}
	return count
}

// CheckDNSName returns an error for an invalid name of a certificate.
func CheckDNSName(name string) error {
	wrong := validation.IsDNS1123Subdomain(name)
	if strings.HasPrefix(name, "*.") {
		wrong = validation.IsWildcardDNS1123Subdomain(name)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%q is not a DNS name", name)
	}
	return nil
}

// CheckLifetimes returns an error if an authority cannot be replaced in time: certificates are renewed when a
// third of their validity is left, and an authority needs twice its overlap plus the rest of a certificate's
// validity.
func (c *InterpreterCertificate) CheckLifetimes() error {
	switch {
	case c.Validity.Duration < time.Minute:
		return fmt.Errorf("validity must be at least 1m")
	case c.AuthorityValidity.Duration < 3*c.Validity.Duration:
		return fmt.Errorf("authorityValidity must be at least three times validity")
	case c.Overlap.Duration > c.AuthorityValidity.Duration/9:
		return fmt.Errorf("overlap must be at most a ninth of authorityValidity")
	}
	return nil
}

func (v *validator) registration(r *Registration) {
	if err := r.Check(); err != nil {
		v.add(err.Error(), "registration")
	}
	for i, node := range find(v.root, "registration", "dialects").Items() {
		if known := []string{DialectShipped, DialectProposal}; !slices.Contains(known, r.Dialects[i]) || slices.Contains(r.Dialects[:i], r.Dialects[i]) {
			v.at(node, fmt.Sprintf("registration.dialects[%d]", i), fmt.Sprintf("%q must be one of %s, and once", r.Dialects[i], strings.Join(known, ", ")))
		}
	}
	for i, node := range find(v.root, "registration", "without").Items() {
		if known := RegisteredOperations(); !slices.Contains(known, r.Without[i]) {
			v.at(node, fmt.Sprintf("registration.without[%d]", i), fmt.Sprintf("%q is not an operation%s", r.Without[i], source.Suggest(r.Without[i], known)))
		}
	}
}

// RegisteredOperations returns the operations that can be registered, with their names in profiles.
func RegisteredOperations() []string {
	return []string{"replicas", "components", "revise", "dependencies", "retain", "status", "health", "aggregate"}
}

// Check returns an error for an invalid registration.
func (r *Registration) Check() error {
	switch {
	case r.Name != "" && len(validation.IsDNS1123Subdomain(r.Name)) > 0:
		return fmt.Errorf("%q is not a valid name of a Kubernetes object", r.Name)
	case (r.URL == "") == (r.Service == nil):
		return fmt.Errorf("exactly one of url and service is needed")
	case r.Service != nil && (r.Service.Namespace == "" || r.Service.Name == ""):
		return fmt.Errorf("service needs namespace and name")
	case r.SyncPeriod.Set && r.SyncPeriod.Duration < time.Second:
		return fmt.Errorf("syncPeriod must be at least 1s")
	}
	if r.URL == "" {
		return nil
	}
	if u, err := url.Parse(r.URL); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("url must be https://host:port/path, without a user, a query and a fragment")
	}
	return nil
}
