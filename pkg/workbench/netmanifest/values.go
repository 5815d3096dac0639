// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package netmanifest

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// spiderpoolValues are what Spiderpool's chart must be told. Gateways and conflicts are detected on interfaces that are there before addresses are
// asked for, and these come after.
type spiderpoolValues struct {
	IPAM struct {
		EnableGatewayDetection    bool `yaml:"enableGatewayDetection"`
		EnableIPConflictDetection bool `yaml:"enableIPConflictDetection"`
	} `yaml:"ipam"`
	Plugins struct {
		InstallVLANCNI bool `yaml:"installVlanCNI"`
	} `yaml:"plugins"`
	Provider struct {
		ServerURL string `yaml:"serverUrl"`
	} `yaml:"iaasNetworkProvider"`
}

// SpiderpoolValues are the Helm values of Spiderpool, which are the same for all pools.
func SpiderpoolValues(serverURL string, version *semver.Version) ([]byte, error) {
	if err := CheckURL(serverURL); err != nil {
		return nil, err
	}
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	var values spiderpoolValues
	values.Plugins.InstallVLANCNI, values.Provider.ServerURL = true, serverURL
	comment := []string{fmt.Sprintf("Helm values of Spiderpool %s, beside your own.", version)}
	if strings.HasPrefix(serverURL, "http:") {
		comment = append(comment, "Over http whoever reaches the provider can allocate and release everything: its listener must say `insecure: true`.")
	}
	return write(append(comment, unknown(version)...), values)
}

// dranetValues are what DRANET's chart must be told.
type dranetValues struct {
	Args struct {
		CloudProviderHint string `yaml:"cloudProviderHint,omitempty"`
		ProfileProvider   string `yaml:"profileProvider,omitempty"`
		WebhookURL        string `yaml:"webhookURL"`
	} `yaml:"args"`
	Volumes []volume      `yaml:"extraVolumes,omitempty"`
	Mounts  []volumeMount `yaml:"extraVolumeMounts,omitempty"`
}

type (
	volume struct {
		Name     string   `yaml:"name"`
		HostPath hostPath `yaml:"hostPath"`
	}
	hostPath struct {
		Path string `yaml:"path"`
		Type string `yaml:"type"`
	}
	volumeMount struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	}
)

// DRANETValues are the Helm values of DRANET: what the profile has of devices and of profiles it is asked for, and for nothing else, since DRANET
// does not start with a provider that lacks what it is to be asked for.
func DRANETValues(p *policy.Policy, webhookURL string) ([]byte, error) {
	socket, err := checkWebhook(webhookURL)
	if err != nil {
		return nil, err
	}
	if !p.HasDevices() && !p.HasProfiles() {
		return nil, errors.New("DRANET has nothing to ask: the profile has neither devices nor profiles")
	}
	var values dranetValues
	arguments := []string{"--webhook-url=" + webhookURL}
	values.Args.WebhookURL = webhookURL
	if p.HasProfiles() {
		values.Args.ProfileProvider = "webhook"
		arguments = append([]string{"--profile-provider=webhook"}, arguments...)
	}
	if p.HasDevices() {
		values.Args.CloudProviderHint = "webhook"
		arguments = append([]string{"--cloud-provider-hint=webhook"}, arguments...)
	}
	comment := []string{"Helm values of DRANET, beside your own. Without Helm these are arguments of the container dranet:", strings.Join(arguments, " ")}
	if socket != "" {
		folder := path.Dir(socket)
		values.Volumes = []volume{{"graft", hostPath{folder, "DirectoryOrCreate"}}}
		values.Mounts = []volumeMount{{"graft", folder}}
		comment = append(comment, "The folder of the socket is that of the node; graft-network-provider needs it, too.")
	}
	return write(comment, values)
}

// checkWebhook says what is wrong with the URL of a webhook, and which socket it is.
func checkWebhook(text string) (socket string, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "unix":
		return "", fmt.Errorf("%q must be a URL such as unix:///run/graft/dranet.sock", text)
	case u.Scheme != "unix":
		if u.Host == "" {
			return "", fmt.Errorf("%q must name a host", text)
		}
		return "", nil
	case u.Host != "" || path.Clean(u.Path) != u.Path || path.Dir(u.Path) == "/" || u.Path == "":
		return "", fmt.Errorf("%q must name a socket in a folder, such as unix:///run/graft/dranet.sock", text)
	}
	return u.Path, nil
}
