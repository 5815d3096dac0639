// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

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

// attach makes the attachment of an owner.
func attach(configuration string, a network.Allocation) attachment {
	sum := sha256.Sum256([]byte(a.Owner.String()))
	digits := hex.EncodeToString(sum[:])
	made := attachment{
		Configuration: configuration, Container: "graft-" + digits[:32], Interface: "gr" + digits[32:45], Namespace: a.Holder.Namespace, Pod: "graft-" + digits[:32],
		UID: fmt.Sprintf("%s-%s-%s-%s-%s", digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]),
	}
	// older bindings may be invalid, but must be released
	if made.Namespace == "" || checkNamespace(made.Namespace) != nil {
		made.Namespace = noNamespace
	}
	return made
}

// checkNamespace refuses a namespace that would be more than one argument of a plugin, or none.
func checkNamespace(name string) error {
	if name != "" && len(validation.IsDNS1123Label(name)) > 0 {
		return fmt.Errorf("%w: the namespace of the holder is none", network.ErrNotSent)
	}
	return nil
}

// attached returns the bound attachment or, if it is unknown, the one that Bind would have created.
func attached(configuration string, a network.Allocation) (attachment, error) {
	at := attach(configuration, a)
	if len(a.Binding.Reference) == 0 {
		return at, nil
	}
	if err := json.Unmarshal(a.Binding.Reference, &at); err != nil {
		return at, fmt.Errorf("reading the reference that the ledger keeps: %w", err)
	}
	if checkNamespace(at.Namespace) != nil {
		at.Namespace = noNamespace
	}
	return at, nil
}

// noNamespace is told where the holder's is not known.
const noNamespace = "graft"

// namespace returns a path without a network namespace: IPAM plugins need none, and must not use the server's own.
func (at attachment) namespace() string { return "/var/run/netns/" + at.Container }

// environment returns the environment of the plugin without any variables of the server.
func (at attachment) environment(command, plugins string) []string {
	return []string{
		"CNI_COMMAND=" + command,
		"CNI_CONTAINERID=" + at.Container,
		"CNI_IFNAME=" + at.Interface,
		"CNI_NETNS=" + at.namespace(),
		"CNI_PATH=" + plugins,
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=" + at.Namespace + ";K8S_POD_NAME=" + at.Pod + ";K8S_POD_INFRA_CONTAINER_ID=" + at.Container +
			";K8S_POD_UID=" + at.UID,
	}
}
