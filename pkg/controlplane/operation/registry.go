// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

//go:generate sh -c "cd ../../.. && go run ./hack/reference"

// All lists the operations. To add one: a file that defines it, and a line here.
func All() []Definition {
	return []Definition{
		flags(),
		featureGates(),
		listFlags(),
		mapFlags(),
		admissionPlugins(),
		env(),
		volumes(),
		containers(),
		initContainers(),
		labels(),
		annotations(),
		podLabels(),
		podAnnotations(),
		checksumAnnotations(),
		storage(),
		service(),
		containerPolicies(),
		configuration(),
		unit(),
		file(),
		sysctl(),
		cri(),
		providerConfig(),
		fields(),
		embeddedDocument(),
		machineControllerManagerProvider(),
		patch(),
	}
}
