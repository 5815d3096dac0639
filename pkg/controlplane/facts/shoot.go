// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
)

// shootManifest is the part of a Shoot that is decoded at once.
type shootManifest struct {
	typeMeta
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Region           string `json:"region"`
		Purpose          string `json:"purpose"`
		CloudProfileName string `json:"cloudProfileName"`
		CloudProfile     struct {
			Name string `json:"name"`
		} `json:"cloudProfile"`
		Kubernetes   versioned `json:"kubernetes"`
		ControlPlane struct {
			HighAvailability struct {
				FailureTolerance struct {
					Type string `json:"type"`
				} `json:"failureTolerance"`
			} `json:"highAvailability"`
		} `json:"controlPlane"`
		Hibernation struct {
			Enabled bool `json:"enabled"`
		} `json:"hibernation"`
		Networking struct {
			Type       string   `json:"type"`
			IPFamilies []string `json:"ipFamilies"`
			Nodes      string   `json:"nodes"`
			Pods       string   `json:"pods"`
			Services   string   `json:"services"`
		} `json:"networking"`
		Provider struct {
			Type    string           `json:"type"`
			Workers []workerManifest `json:"workers"`
		} `json:"provider"`
	} `json:"spec"`
	Status struct {
		TechnicalID string `json:"technicalID"`
	} `json:"status"`
}

type versioned struct {
	Version string `json:"version"`
}

type workerManifest struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Minimum     int64             `json:"minimum"`
	Maximum     int64             `json:"maximum"`
	Zones       []string          `json:"zones"`
	Kubernetes  versioned         `json:"kubernetes"`
	CRI         struct {
		Name              string `json:"name"`
		ContainerRuntimes []struct {
			Type string `json:"type"`
		} `json:"containerRuntimes"`
	} `json:"cri"`
	Volume                *Volume           `json:"volume"`
	DataVolumes           []Volume          `json:"dataVolumes"`
	KubeletDataVolumeName string            `json:"kubeletDataVolumeName"`
	Taints                []Taint           `json:"taints"`
	Sysctls               map[string]string `json:"sysctls"`
	SystemComponents      *struct {
		Allow bool `json:"allow"`
	} `json:"systemComponents"`
	Priority       *int64 `json:"priority"`
	UpdateStrategy string `json:"updateStrategy"`
	Machine        struct {
		Type         string `json:"type"`
		Architecture string `json:"architecture"`
		Image        struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"image"`
	} `json:"machine"`
}

// DecodeShoot decodes a Shoot; nil for empty bytes or null. The bytes are kept and must not change any more.
func DecodeShoot(raw []byte) (*Shoot, error) {
	if absent(raw) {
		return nil, nil
	}
	var m shootManifest
	if err := decodeAs(raw, &m, &m.typeMeta, coreVersion, "Shoot"); err != nil {
		return nil, err
	}
	s := m.shoot()
	s.Manifest = NewManifest(raw)
	if err := checkVersion(s.Kubernetes); err != nil {
		return nil, fmt.Errorf("decoding the Shoot: spec.kubernetes.version: %w", err)
	}
	for i, w := range s.Workers {
		if err := checkVersion(w.Kubernetes); err != nil {
			return nil, fmt.Errorf("decoding the Shoot: spec.provider.workers[%d].kubernetes.version: %w", i, err)
		}
	}
	return s, nil
}

func (m *shootManifest) shoot() *Shoot {
	s := &Shoot{
		Name:             m.Metadata.Name,
		Namespace:        m.Metadata.Namespace,
		UID:              m.Metadata.UID,
		Labels:           m.Metadata.Labels,
		Annotations:      m.Metadata.Annotations,
		Kubernetes:       m.Spec.Kubernetes.Version,
		Region:           m.Spec.Region,
		Provider:         m.Spec.Provider.Type,
		CloudProfile:     cmp.Or(m.Spec.CloudProfile.Name, m.Spec.CloudProfileName),
		Hibernated:       m.Spec.Hibernation.Enabled,
		Workerless:       len(m.Spec.Provider.Workers) == 0,
		HighAvailability: m.Spec.ControlPlane.HighAvailability.FailureTolerance.Type,
		Purpose:          m.Spec.Purpose,
		TechnicalID:      m.Status.TechnicalID,
		Networking: Networking{
			Type:       m.Spec.Networking.Type,
			IPFamilies: m.Spec.Networking.IPFamilies,
			Nodes:      m.Spec.Networking.Nodes,
			Pods:       m.Spec.Networking.Pods,
			Services:   m.Spec.Networking.Services,
		},
	}
	if len(s.Networking.IPFamilies) == 0 {
		s.Networking.IPFamilies = []string{"IPv4"}
	}
	for _, w := range m.Spec.Provider.Workers {
		s.Workers = append(s.Workers, w.worker(s.Kubernetes))
	}
	return s
}

func (m *workerManifest) worker(version string) Worker {
	var runtimes []string
	for _, runtime := range m.CRI.ContainerRuntimes {
		runtimes = append(runtimes, runtime.Type)
	}
	return Worker{
		Name:                m.Name,
		Kubernetes:          cmp.Or(m.Kubernetes.Version, version),
		MachineType:         m.Machine.Type,
		MachineImage:        m.Machine.Image.Name,
		MachineImageVersion: m.Machine.Image.Version,
		Architecture:        cmp.Or(m.Machine.Architecture, "amd64"),
		CRI:                 m.CRI.Name,
		Minimum:             m.Minimum,
		Maximum:             m.Maximum,
		Zones:               m.Zones,
		Labels:              m.Labels,
		Annotations:         m.Annotations,
		Volume:              m.Volume,
		DataVolumes:         m.DataVolumes,
		KubeletDataVolume:   m.KubeletDataVolumeName,
		Taints:              m.Taints,
		Sysctls:             m.Sysctls,
		ContainerRuntimes:   runtimes,
		SystemComponents:    m.SystemComponents == nil || m.SystemComponents.Allow,
		Priority:            m.Priority,
		UpdateStrategy:      m.UpdateStrategy,
	}
}
