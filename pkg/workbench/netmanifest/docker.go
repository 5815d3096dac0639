// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package netmanifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// Discovery says where Docker finds a provider.
type Discovery struct {
	// Name is that of the driver: what users write behind -d and --ipam-driver.
	Name string
	// URL is where the provider answers: unix:///path, http://host:port or https://host:port.
	URL string
	// CAFile holds the CAs of the provider, CertFile and KeyFile are those that Docker shows. They are for https, and paths on the machine of dockerd.
	CAFile, CertFile, KeyFile string
}

// DockerFile is a file by which Docker finds a driver (moby, pkg/plugins/discovery.go).
type DockerFile struct {
	// Name is what it must be called, Folders are where it may stand: of the machine's dockerd, and of a user's.
	Name    string
	Folders []string
	Data    []byte
	// Advice says what else there is to do, a paragraph each.
	Advice []string
}

// driverName is what the name of a file and of a driver can be.
var driverName = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9_.]{0,62}$`)

// pluginSockets is the folder in which Docker looks for sockets.
const pluginSockets = "/run/docker/plugins"

// Docker is the file for a provider, with how its profiles are used. One for https is JSON, since it names files; the others are a URL alone.
func Docker(p *policy.Policy, d Discovery) (*DockerFile, error) {
	if !driverName.MatchString(d.Name) {
		return nil, fmt.Errorf("%q is no name of a driver: 1 to 63 of letters, digits and . _ -, a letter or digit first", d.Name)
	}
	u, err := d.check()
	if err != nil {
		return nil, err
	}
	file := &DockerFile{
		Name: d.Name + ".spec", Folders: []string{"/etc/docker/plugins", "~/.local/lib/docker/plugins (rootless)"}, Data: []byte(d.URL + "\n"),
	}
	if u.Scheme == "https" {
		file.Name = d.Name + ".json"
		if file.Data, err = d.json(); err != nil {
			return nil, err
		}
	}
	file.Advice = append(d.advice(u), uses(p, d.Name)...)
	return file, nil
}

// check finds what is wrong with the URL, and with the files that go with it.
func (d Discovery) check() (*url.URL, error) {
	u, err := url.Parse(d.URL)
	if err != nil || !reachable(u) {
		return nil, fmt.Errorf("%q must be unix:///path, http://host:port or https://host:port", d.URL)
	}
	if u.Scheme != "unix" && (u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		return nil, fmt.Errorf("%q must have scheme, host and port alone: Docker sends nothing else", d.URL)
	}
	return u, d.checkFiles(u.Scheme == "https")
}

// reachable says whether a URL names something to connect to.
func reachable(u *url.URL) bool {
	switch u.Scheme {
	case "unix":
		return u.Host == "" && u.Path != "" && path.Clean(u.Path) == u.Path
	case "http", "https":
		return u.Hostname() != "" && u.Port() != ""
	default:
		return false
	}
}

// checkFiles holds that all files are there where they are needed, and none elsewhere.
func (d Discovery) checkFiles(needed bool) error {
	count := 0
	for _, file := range []string{d.CAFile, d.CertFile, d.KeyFile} {
		if file == "" {
			continue
		}
		if count++; !path.IsAbs(file) {
			return fmt.Errorf("%q must be an absolute path on the machine of dockerd", file)
		}
	}
	switch {
	case needed && count < 3:
		return errors.New("https needs the files with the CA, and with the certificate and the key that Docker shows: without a CA Docker trusts everybody, " +
			"and the contract asks for a certificate")
	case !needed && count > 0:
		return fmt.Errorf("files of TLS are for https, and the URL is %s", d.URL)
	default:
		return nil
	}
}

// json is the file for https.
func (d Discovery) json() ([]byte, error) {
	type tls struct {
		InsecureSkipVerify        bool
		CAFile, CertFile, KeyFile string
	}
	data, err := json.MarshalIndent(struct {
		Name, Addr string
		TLSConfig  tls
	}{d.Name, d.URL, tls{false, d.CAFile, d.CertFile, d.KeyFile}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return append(data, '\n'), nil
}

// advice says what the provider must be told.
func (d Discovery) advice(u *url.URL) []string {
	switch {
	case u.Scheme == "http":
		return []string{"Over http whoever reaches the provider makes links as root: its listener must say `insecure: true`."}
	case u.Scheme == "https":
		return []string{"The listener of the provider has tls with certFile, keyFile and clientCAFile: the CA of Docker's certificate."}
	case u.Path == pluginSockets+"/"+d.Name+".sock":
		return []string{"Docker finds a socket of this path without the file."}
	default:
		return nil
	}
}

// uses are the commands for the profiles.
func uses(p *policy.Policy, driver string) []string {
	var commands []string
	for _, name := range p.ProfileNames() {
		profile := p.Profile(name)
		command := "docker network create -d " + driver + " -o profile=" + name
		if len(profile.Pools) > 0 {
			command += " --ipam-driver " + driver + " --ipam-opt profile=" + name
		} else if profile.Link == nil {
			continue
		}
		commands = append(commands, command+" NAME")
	}
	if len(commands) == 0 {
		return nil
	}
	return []string{"Then:\n" + strings.Join(commands, "\n")}
}
