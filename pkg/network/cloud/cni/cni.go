// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cni is the cloud in which the IPAM plugin of a CNI network configuration, such as host-local, selects the
// addresses: it runs the plugin's program as a container runtime does, without a container.
//
// Plugins identify owners by the ID of the container, the name of the interface, or the name of the Pod: these three
// are unique for each owner, so that no plugin confuses two owners. The package does not access the plugin's data.
// Start reading at New.
package cni

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Options configure a cloud.
type Options struct {
	// Configurations is the folder of network configurations, and Plugins the folder of the programs.
	Configurations, Plugins string
	// Timeout limits one run of a plugin, which is then killed with all its child processes; default 10 s.
	Timeout time.Duration
}

// recently limits the stored bindings, which are needed until the ledger has them.
const recently = 4096

// PluginCloud is a cloud.Cloud that runs CNI plugins.
type PluginCloud struct {
	configuration string
	options       Options
	// recent caches results of plugins by cloud.Identity, because a plugin need not return the result again.
	recent *lru.Cache
}

// New makes the cloud of the configuration with a name. The configuration is read when a plugin is run.
func New(configuration string, o Options) *PluginCloud {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	return &PluginCloud{configuration: configuration, options: o, recent: lru.New(recently)}
}

// Check returns an error if the configuration or the plugin is missing.
func (c *PluginCloud) Check() error {
	_, err := load(c.options, c.configuration)
	return err
}

// Bind implements cloud.Cloud. If the response of an earlier attempt was lost and the plugin does not repeat it, Bind
// first releases the result of that attempt. It fails with network.ErrRefused if the plugin rejects the allocation.
func (c *PluginCloud) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	if err := ctx.Err(); err != nil {
		return network.Binding{}, err
	}
	if len(a.Binding.Reference) > 0 {
		return a.Binding, nil
	}
	if recent, ok := c.recent.Get(cloud.Identity(a)); ok {
		return recent.(network.Binding), nil
	}
	if err := checkNamespace(a.Holder.Namespace); err != nil {
		return network.Binding{}, err
	}
	p, err := load(c.options, c.configuration)
	if err != nil {
		return network.Binding{}, err
	}
	at, err := attachmentOf(c.configuration, a)
	if err != nil {
		return network.Binding{}, err
	}
	result, err := p.run(ctx, "ADD", at, a.Addresses)
	if _, ended := errors.AsType[*pluginError](err); ended && !errors.Is(err, network.ErrRefused) {
		// A plugin may refuse to add twice (host-local does), and a runtime owes a DEL after an ADD that has failed.
		if _, err := p.run(ctx, "DEL", at, nil); err != nil {
			return network.Binding{}, err
		}
		result, err = p.run(ctx, "ADD", at, a.Addresses)
	}
	if err != nil {
		return network.Binding{}, err
	}
	binding, err := bindingOf(result, at, a)
	if err != nil {
		return network.Binding{}, err
	}
	c.recent.Add(cloud.Identity(a), binding)
	return binding, nil
}

// Unbind implements cloud.Cloud. The plugin releases only the addresses of this owner. It fails if the plugin does.
func (c *PluginCloud) Unbind(ctx context.Context, a network.Allocation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at, err := attachmentOf(c.configuration, a)
	if err != nil {
		return err
	}
	p, err := load(c.options, at.Configuration)
	if err != nil {
		return err
	}
	c.recent.Remove(cloud.Identity(a))
	_, err = p.run(ctx, "DEL", at, nil)
	return err
}

// attachment holds the data that a plugin receives about an owner. The ledger stores it as the reference, so that a
// release names the bound attachment even if the configuration of the pool has changed.
type attachment struct {
	// Configuration is the name of the network configuration.
	Configuration string `json:"configuration"`
	// Container, Interface and Pod are made up of the owner. The name of an interface has at most 15 characters.
	Container string `json:"container"`
	Interface string `json:"interface"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
}

// attachmentOf returns the bound attachment or, if it is unknown, that of a new binding. It fails if the reference is not
// JSON. A namespace that is missing or invalid, which older bindings may have, is replaced.
func attachmentOf(configuration string, a network.Allocation) (attachment, error) {
	sum := sha256.Sum256([]byte(a.Owner.String()))
	digits := hex.EncodeToString(sum[:])
	at := attachment{
		Configuration: configuration, Container: "graft-" + digits[:32], Interface: "gr" + digits[32:45], Namespace: a.Holder.Namespace, Pod: "graft-" + digits[:32],
		UID: fmt.Sprintf("%s-%s-%s-%s-%s", digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]),
	}
	if len(a.Binding.Reference) > 0 {
		if err := json.Unmarshal(a.Binding.Reference, &at); err != nil {
			return at, fmt.Errorf("reading the reference that the ledger keeps: %w", err)
		}
	}
	if at.Namespace == "" || checkNamespace(at.Namespace) != nil {
		at.Namespace = "graft"
	}
	return at, nil
}

// checkNamespace refuses a namespace that would be more than one argument of a plugin, or none.
func checkNamespace(name string) error {
	if name != "" && len(validation.IsDNS1123Label(name)) > 0 {
		return fmt.Errorf("%w: the holder has no valid namespace", network.ErrNotSent)
	}
	return nil
}

// environment returns the variables of the CNI specification. The path of the network namespace does not exist: IPAM plugins
// need none, and must not use the server's own.
func (at attachment) environment(command, plugins string) []string {
	return []string{
		"CNI_COMMAND=" + command,
		"CNI_CONTAINERID=" + at.Container,
		"CNI_IFNAME=" + at.Interface,
		"CNI_NETNS=/var/run/netns/" + at.Container,
		"CNI_PATH=" + plugins,
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=" + at.Namespace + ";K8S_POD_NAME=" + at.Pod + ";K8S_POD_INFRA_CONTAINER_ID=" + at.Container +
			";K8S_POD_UID=" + at.UID,
	}
}
