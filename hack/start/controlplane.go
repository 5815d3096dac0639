// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample/static"
)

// planeOptions select the control plane; they are options of graft-controlplane.
type planeOptions struct {
	Provider         string            `json:"provider,omitempty"`
	Kubernetes       string            `json:"kubernetes,omitempty"`
	HighAvailability bool              `json:"highAvailability,omitempty"`
	IPv6             bool              `json:"ipv6,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`
}

// plane is a control plane as Gardener writes it.
type plane struct {
	Namespace json.RawMessage   `json:"namespace"`
	Cluster   json.RawMessage   `json:"cluster"`
	Objects   []json.RawMessage `json:"objects"`
	Error     string            `json:"error"`
}

// annotate adds annotations of the form key=value,key=value.
func (o *planeOptions) annotate(list string) error {
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q is not key=value", pair)
		}
		o.Annotations[key] = value
	}
	return nil
}

// generate returns the stored sample if only the provider is set, which needs no compiled Gardener components,
// and otherwise the output of graft-controlplane.
func (o planeOptions) generate(ctx context.Context) (plane, error) {
	if o.Kubernetes == "" && !o.HighAvailability && !o.IPv6 && o.Annotations == nil {
		return o.stored()
	}
	input, err := json.Marshal(o)
	if err != nil {
		return plane{}, err
	}
	command := exec.CommandContext(ctx, "bin/graft-controlplane")
	command.Stdin = bytes.NewReader(input)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return plane{}, fmt.Errorf("running graft-controlplane: %w: %s", err, problems.String())
	}
	var p plane
	if err := json.Unmarshal(out, &p); err != nil {
		return plane{}, fmt.Errorf("reading the control plane: %w", err)
	}
	if p.Error != "" {
		return plane{}, errors.New(p.Error)
	}
	return p, nil
}

// storedPlane is the sample to deploy, storedProvider its provider.
const storedPlane, storedProvider = "today-1.34", "openstack"

// stored returns the stored sample with another provider.
func (o planeOptions) stored() (plane, error) {
	convert := func(object []byte) json.RawMessage {
		return bytes.ReplaceAll(object, []byte(`"`+storedProvider+`"`), []byte(`"`+o.Provider+`"`))
	}
	for _, stored := range static.Planes() {
		if stored.Name != storedPlane {
			continue
		}
		var cluster struct{ Metadata struct{ Name string } }
		if err := json.Unmarshal(stored.Source, &cluster); err != nil {
			return plane{}, fmt.Errorf("reading the stored Cluster: %w", err)
		}
		namespace := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + cluster.Metadata.Name + `","labels":{"gardener.cloud/role":"shoot",` +
			`"shoot.gardener.cloud/provider":"openstack","seed.gardener.cloud/provider":"openstack","backup.gardener.cloud/provider":"openstack"}}}`
		p := plane{Namespace: convert([]byte(namespace)), Cluster: convert(stored.Source)}
		for _, object := range stored.Objects {
			p.Objects = append(p.Objects, convert(object))
		}
		return p, nil
	}
	return plane{}, fmt.Errorf("no stored sample %s", storedPlane)
}
