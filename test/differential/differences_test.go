// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// difference is an intended difference: its description, its place, and an input that shows it.
type difference struct {
	name string
	// library and engine describe the behaviour of Gardener's library and of Graft, and why the effect.
	library, engine, why string
	// target, aspect and place are where it shows; gardener and graft are how each side looks there. All but target and
	// aspect are regular expressions.
	target                 string
	aspect                 aspect
	place, gardener, graft string
	// moved is the line with another position, if only the order differs: without it, both sides are the same.
	moved string
	// onSamples means that the difference occurs on samples without input.
	onSamples bool
	input     input
}

// explain finds the difference in the table that a delta is one of.
func explain(o subject, d delta) *difference {
	matches := func(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }
	i := slices.IndexFunc(differences, func(listed difference) bool {
		return listed.target == o.Target && listed.aspect == d.aspect && matches(listed.place, d.place) &&
			matches(listed.gardener, d.gardener) && matches(listed.graft, d.graft) &&
			(orderOf[d.aspect] == "" || without(d.gardener, listed.moved) == without(d.graft, listed.moved))
	})
	if i < 0 {
		return nil
	}
	return &differences[i]
}

func without(lines, one string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(lines, "\n"), func(line string) bool { return line == one }), "\n")
}

var differences = slices.Concat(flagDifferences, fieldDifferences, nodeDifferences)

// The command lines of containers.
var flagDifferences = []difference{
	{
		name:    "kube-apiserver: flags in args are not found",
		library: "It searches `command`; since v1.76 the flags are in `args`: removed ones stay, merged ones double.",
		engine:  "Both lists are one command line.",
		why:     "The edits take effect.",
		target:  "kube-apiserver", aspect: flags, place: "^container kube-apiserver$",
		gardener:  `^(--cloud-provider=openstack\n--feature-gates=Other=false\n)?--feature-gates=VolumeAttributesClass=true$`,
		graft:     `^(--feature-gates=Other=false,VolumeAttributesClass=true)?$`,
		onSamples: true,
		input: input{
			shoot: sample.Options{Kubernetes: "1.33.6"}, target: "kube-apiserver",
			edit: inContainer(appendTo([]string{"args"}, "--cloud-provider=openstack", "--feature-gates=Other=false")),
		},
	},
	{
		name:    "kube-apiserver: new flags are in command",
		library: "A new flag is in `command`, before `args`.",
		engine:  "It is at the end.",
		why:     "None.",
		target:  "kube-apiserver", aspect: flagOrder, place: "^container kube-apiserver$",
		moved:     `--feature-gates=VolumeAttributesClass=true`,
		gardener:  `^--feature-gates=VolumeAttributesClass=true\n`,
		graft:     `\n--feature-gates=VolumeAttributesClass=true(\n|$)`,
		onSamples: true,
		input:     input{shoot: sample.Options{Kubernetes: "1.33.6"}, target: "kube-apiserver"},
	},
	{
		name:    "kube-controller-manager: a flag is removed and appended",
		library: "`--allocate-node-cidrs` is removed and appended; each flag behind it costs a patch operation.",
		engine:  "It is replaced in place.",
		why:     "A conforming object stays unchanged, and Pods do not restart.",
		target:  "kube-controller-manager", aspect: flagOrder, place: "^container kube-controller-manager$",
		moved:    `--allocate-node-cidrs=false`,
		gardener: `\n--allocate-node-cidrs=false(\n|$)`, graft: `^--allocate-node-cidrs=false\n`,
		onSamples: true,
		input:     input{target: "kube-controller-manager"},
	},
	{
		name:    "feature gates come twice",
		library: "`EnsureStringWithPrefixContains` compares entries: the value becomes `X=false,X=true`.",
		engine:  "The entry is replaced.",
		why:     "The result does not depend on the order.",
		target:  "kube-controller-manager", aspect: flags, place: "^container kube-controller-manager$",
		gardener: `^--feature-gates=VolumeAttributesClass=false,Other=true,VolumeAttributesClass=true$`,
		graft:    `^--feature-gates=VolumeAttributesClass=true,Other=true$`,
		input: input{
			shoot: sample.Options{Kubernetes: "1.33.6"}, target: "kube-controller-manager",
			edit: inContainer(appendTo([]string{"command"}, "--feature-gates=VolumeAttributesClass=false,Other=true")),
		},
	},
	{
		name:    "a flag occurs several times",
		library: "Each occurrence gets the value.",
		engine:  "The flag has the given occurrences.",
		why:     "Repeated flags get one value.",
		target:  "kube-controller-manager", aspect: flags, place: "^container kube-controller-manager$",
		gardener: `^--cloud-provider=external$`, graft: `^$`,
		input: input{
			target: "kube-controller-manager",
			edit:   inContainer(appendTo([]string{"command"}, "--cloud-provider=aws", "--cloud-provider=gce")),
		},
	},
	{
		name:    "a flag and its value are separate arguments",
		library: "`--cloud-config=` does not match `--cloud-config /etc/cloud.conf`.",
		engine:  "`--x=v`, `--x v` and `--x` are read.",
		why:     "The edit takes effect.",
		target:  "kube-controller-manager", aspect: flags, place: "^container kube-controller-manager$",
		gardener: `^--cloud-config\n/etc/cloud.conf$`, graft: `^$`,
		input: input{
			target: "kube-controller-manager",
			edit:   inContainer(appendTo([]string{"command"}, "--cloud-config", "/etc/cloud.conf")),
		},
	},
	{
		name:    "a list that becomes empty",
		library: "`EnsureNoStringWithPrefixContains` leaves `--disable-admission-plugins=`.",
		engine:  "The flag is removed.",
		why:     "None.",
		target:  "kube-apiserver", aspect: flags, place: "^container kube-apiserver$",
		gardener: `^--disable-admission-plugins=$`, graft: `^$`,
		input: input{
			target: "kube-apiserver",
			edit:   inContainer(appendTo([]string{"args"}, "--disable-admission-plugins=PersistentVolumeClaimResize")),
		},
	},
}

// volumeOfTomorrow adds a volume with an unknown field, after one that the rules remove and before all other volumes.
var volumeOfTomorrow = prependTo(slices.Concat(podSpec, []string{"volumes"}),
	map[string]any{"name": "etc-ssl", "emptyDir": map[string]any{}},
	map[string]any{"name": "of-tomorrow", "emptyDir": map[string]any{}, "ofTomorrow": "a field"})

// The fields of objects.
var fieldDifferences = []difference{
	{
		name:    "references of added volumes",
		library: "Volumes get no reference annotation.",
		engine:  "The annotations are added.",
		why:     "Gardener does not collect a Secret in use.",
		target:  "kube-apiserver", aspect: field,
		place:    `metadata\.annotations\.reference\.resources\.gardener\.cloud/secret-`,
		gardener: `^$`, graft: `^cloudprovider$`,
		onSamples: true,
		input:     input{target: "kube-apiserver"},
	},
	{
		name:    "the StatefulSet of the VPN is not mutated",
		library: "The highly available vpn-seed-server lacks the selected label.",
		engine:  "Objects are selected by kind and name.",
		why:     "Both forms are mutated.",
		target:  "vpn-seed-server", aspect: field,
		place:    `^spec\.template\.spec\.containers\[vpn-seed-server\]\.env\[NODE_NETWORK\]`,
		gardener: `^$`, graft: `^(NODE_NETWORK|10\.250\.0\.0/16)$`,
		onSamples: true,
		input:     input{shoot: sample.Options{HighAvailability: true}, target: "vpn-seed-server"},
	},
	{
		name:    "unknown fields of list items are lost",
		library: "Patches by index without unknown fields lose them when an item is removed.",
		engine:  "Other items stay.",
		why:     "Newer API fields are kept.",
		target:  "kube-controller-manager", aspect: unknown,
		place:    `^spec\.template\.spec\.volumes\[of-tomorrow\]\.ofTomorrow$`,
		gardener: `^$`, graft: `^a field$`,
		input: input{target: "kube-controller-manager", edit: volumeOfTomorrow},
	},
	{
		name:    "unknown fields move to other list items",
		library: "They stay at the index of the removed item.",
		engine:  "They stay with their item.",
		why:     "Volumes keep their own fields.",
		target:  "kube-controller-manager", aspect: unknown,
		place:    `^spec\.template\.spec\.volumes\[ca\]\.ofTomorrow$`,
		gardener: `^a field$`, graft: `^$`,
		input: input{target: "kube-controller-manager", edit: volumeOfTomorrow},
	},
	{
		name:    "an existing volume is replaced",
		library: "`EnsureVolumeWithName` replaces it with its defaults.",
		engine:  "The given fields are set.",
		why:     "A conforming object gets no patch.",
		target:  "kube-apiserver", aspect: field,
		place:    `^spec\.template\.spec\.volumes\[cloudprovider\]\.secret\.defaultMode$`,
		gardener: `^$`, graft: `^416$`,
		input: input{
			target: "kube-apiserver",
			edit: appendTo(slices.Concat(podSpec, []string{"volumes"}), map[string]any{
				"name": "cloudprovider", "secret": map[string]any{"secretName": "cloudprovider", "defaultMode": 416},
			}),
		},
	},
	{
		name:    "an existing container is replaced",
		library: "`EnsureContainerWithName` replaces defaults and changes of other webhooks.",
		engine:  "The given fields are set.",
		why:     "Webhooks do not undo each other.",
		target:  "machine-controller-manager", aspect: field,
		place: `^spec\.template\.spec\.containers\[machine-controller-manager-provider-openstack\]` +
			`\.terminationMessagePath$`,
		gardener: `^$`, graft: `^/dev/termination-log$`,
		input: input{
			target: "machine-controller-manager",
			edit: appendTo(slices.Concat(podSpec, []string{"containers"}), map[string]any{
				"name": "machine-controller-manager-provider-openstack", "resources": map[string]any{},
				"terminationMessagePath": "/dev/termination-log",
			}),
		},
	},
	{
		name:    "an existing container policy is replaced",
		library: "`EnsureVPAContainerResourcePolicyWithName` replaces it.",
		engine:  "The given fields are set.",
		why:     "Existing limits stay.",
		target:  "machine-controller-manager-vpa", aspect: field,
		place: `^spec\.resourcePolicy\.containerPolicies\[machine-controller-manager-provider-openstack\]` +
			`\.minAllowed\.memory$`,
		gardener: `^$`, graft: `^64Mi$`,
		input: input{
			target: "machine-controller-manager-vpa",
			edit: appendTo([]string{"spec", "resourcePolicy", "containerPolicies"}, map[string]any{
				"containerName": "machine-controller-manager-provider-openstack", "minAllowed": map[string]any{"memory": "64Mi"},
			}),
		},
	},
	{
		name:    "the storage of an existing etcd",
		library: "Class and capacity are also set on updates; the class cannot change, and reconciliation fails.",
		engine:  "It stays, unless the rule has `onUpdate: set`.",
		why:     "A profile can be installed next to existing etcds.",
		target:  "etcd-main", aspect: field, place: `^spec\.storage(Class|Capacity)$`,
		gardener: `^(fast|50Gi)$`, graft: `^(|25Gi)$`,
		input: input{target: "etcd-main", stored: true},
	},
}

// commentWithin puts a comment between two lines of the kubelet's command line.
var commentWithin = inUnit(func(text string) string {
	return strings.Replace(text, "    --kubeconfig=", "# Its own.\n    --kubeconfig=", 1)
})

// OperatingSystemConfigs.
var nodeDifferences = []difference{
	{
		name:    "kubelet: new flags and $KUBELET_EXTRA_ARGS",
		library: "A flag is appended behind `$KUBELET_EXTRA_ARGS`.",
		engine:  "It is in front of it.",
		why:     "Extra arguments of a node override Graft's flags, but not the library's.",
		target:  "operatingsystemconfig", aspect: flagOrder, place: `^kubelet\.service$`,
		moved:    `--cloud-provider=external`,
		gardener: `\n--cloud-provider=external$`, graft: `^--cloud-provider=external\n`,
		onSamples: true,
		input:     input{target: "operatingsystemconfig"},
	},
	{
		name:    "kubelet: new options of the unit",
		library: "An option is appended.",
		engine:  "It is next to options of its name.",
		why:     "None.",
		target:  "operatingsystemconfig", aspect: optionOrder, place: `^kubelet\.service$`,
		moved:    `[Service] ExecStartPre=/bin/sh -c 'hostnamectl set-hostname $(hostname -f)'`,
		gardener: `ExecStart=the command line\n\[Service\] ExecStartPre=`, graft: `^\[Service\] ExecStartPre=`,
		onSamples: true,
		input:     input{target: "operatingsystemconfig"},
	},
	{
		name:    "unknown fields of the kubelet's configuration",
		library: "They are dropped, even without an edit.",
		engine:  "They stay.",
		why:     "New fields reach the kubelet.",
		target:  "operatingsystemconfig", aspect: kubeletUnknown, place: `^(ofTomorrow|memorySwap\.ofTomorrow)$`,
		gardener: `^$`, graft: `^a field$`,
		input: input{
			target: "operatingsystemconfig",
			edit: inKubelet(func(text string) string {
				return strings.Replace(text, "memorySwap: {}", "memorySwap: {ofTomorrow: a field}", 1) + "ofTomorrow: a field\n"
			}),
		},
	},
	{
		name:    "comments in the kubelet's configuration",
		library: "They are dropped.",
		engine:  "They stay.",
		why:     "Readers find the comments.",
		target:  "operatingsystemconfig", aspect: comment, place: `^` + kubeletPath + `$`,
		gardener: `^$`, graft: `^# Why there are so many pods.$`,
		input: input{
			target: "operatingsystemconfig",
			edit: inKubelet(func(text string) string {
				return strings.Replace(text, "maxPods:", "# Why there are so many pods.\nmaxPods:", 1)
			}),
		},
	},
	{
		name:    "comments in units",
		library: "They are dropped.",
		engine:  "They stay.",
		why:     "Readers find the comments.",
		target:  "operatingsystemconfig", aspect: comment, place: `^kubelet\.service$`,
		gardener: `^(# \\)?$`, graft: `^(# Why it restarts\.\n; And how often\.|# Its own\.)$`,
		input: input{
			target: "operatingsystemconfig",
			edit: inUnit(func(text string) string {
				return strings.Replace(text, "Restart=", "# Why it restarts.\n; And how often.\nRestart=", 1)
			}),
		},
	},
	{
		name:    "comments within a continued line: the flags behind them",
		library: "The value ends at the comment; later flags are lost.",
		engine:  "The comment is ignored, as by systemd.",
		why:     "The kubelet gets all flags.",
		target:  "operatingsystemconfig", aspect: flags, place: `^kubelet\.service$`,
		gardener: `^Its\nown\.$`, graft: `--kubeconfig=/var/lib/kubelet/kubeconfig-real`,
		input: input{target: "operatingsystemconfig", edit: commentWithin},
	},
	{
		name:    "comments within a continued line: the option behind them",
		library: "Later lines become an option.",
		engine:  "They continue the command line.",
		why:     "systemd gets no unknown option.",
		target:  "operatingsystemconfig", aspect: options, place: `^kubelet\.service$`,
		gardener: `^\[Service\] --kubeconfig=/var/lib/kubelet/kubeconfig-real`, graft: `^$`,
		input: input{target: "operatingsystemconfig", edit: commentWithin},
	},
	{
		name:    "lines over 2048 bytes",
		library: "The object is denied.",
		engine:  "They are allowed.",
		why:     "Long proxy lists work.",
		target:  "operatingsystemconfig", aspect: denied, place: `^$`,
		gardener: `line too long`, graft: `^$`,
		input: input{
			target: "operatingsystemconfig",
			edit: inUnit(func(text string) string {
				return strings.Replace(text, "Restart=", "Environment=NO_PROXY="+strings.Repeat("192.0.2.1,", 300)+"\nRestart=", 1)
			}),
		},
	},
	{
		name:    "quotes in the kubelet's command line",
		library: "Words are split inside quotes.",
		engine:  "Words are split as by systemd.",
		why:     "Values with blanks and escapes work.",
		target:  "operatingsystemconfig", aspect: flags, place: `^kubelet\.service$`,
		gardener: `^"--event-label=two +blanks +x41"$`, graft: `^"--event-label=two  blanks \\x41"$`,
		input: input{
			target: "operatingsystemconfig",
			edit: inUnit(func(text string) string {
				return strings.Replace(text, "    --kubeconfig=", `    "--event-label=two  blanks \x41" --kubeconfig=`, 1)
			}),
		},
	},
	{
		name:    "the configuration of the operating system",
		library: "`spec.providerConfig` needs a separate mutator.",
		engine:  "`fields` merges them.",
		why:     "One profile is sufficient.",
		target:  "operatingsystemconfig", aspect: field,
		place:    `^spec\.providerConfig\.networkIsolation\.allowedNetworks\[0\]$`,
		gardener: `^$`, graft: `^192\.0\.2\.0/24$`,
		onSamples: true,
		input:     input{target: "operatingsystemconfig"},
	},
	{
		name:    "an existing file is replaced",
		library: "`EnsureFileWithPath` replaces permissions.",
		engine:  "The given fields are set.",
		why:     "Programs stay executable.",
		target:  "operatingsystemconfig", aspect: field,
		place:    `^spec\.files\[/opt/bin/cloud-agent\]\.permissions$`,
		gardener: `^$`, graft: `^493$`,
		input: input{
			target: "operatingsystemconfig",
			edit: appendTo([]string{"spec", "files"}, map[string]any{
				"path": "/opt/bin/cloud-agent", "permissions": 493,
				"content": map[string]any{"imageRef": map[string]any{"image": "registry.example.com/cloud-agent:v0",
					"filePathInImage": "/cloud-agent"}},
			}),
		},
	},
	{
		name:    "feature gates in the kubelet's flag",
		library: "Only the file is changed; the flag wins.",
		engine:  "Both are changed.",
		why:     "The gate takes effect.",
		target:  "operatingsystemconfig", aspect: flags, place: `^kubelet\.service$`,
		gardener: `^--feature-gates=NodeSwap=true$`, graft: `^--feature-gates=NodeSwap=false$`,
		input: input{
			target: "operatingsystemconfig",
			edit: inUnit(func(text string) string {
				return strings.Replace(text, "    --kubeconfig=", "    --feature-gates=NodeSwap=true --kubeconfig=", 1)
			}),
		},
	},
}

// same are inputs without a difference, although one could be expected: the patch is applied to the original object, so
// fields that typed decoding loses survive, except in lists with moved items.
var same = map[string]input{
	"managed fields": {
		target: "kube-apiserver", kept: `"f:spec":{"f:replicas":{}}`,
		edit: set([]any{map[string]any{
			"manager": "gardenlet", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}},
		}}, "metadata", "managedFields"),
	},
	"an unknown field of a Deployment": {target: "kube-scheduler", kept: `"ofTomorrow":"a field"`,
		edit: set("a field", "spec", "ofTomorrow")},
	"an unknown field of a container": {target: "kube-scheduler", kept: `"ofTomorrow":"a field"`,
		edit: inContainer(set("a field", "ofTomorrow"))},
	"an unknown field of an OperatingSystemConfig": {target: "operatingsystemconfig",
		kept: `"ofTomorrow":"a field"`, edit: set("a field", "spec", "ofTomorrow")},
	"a volume of the older generation": {
		target: "kube-controller-manager",
		edit: appendTo(slices.Concat(podSpec, []string{"volumes"}),
			map[string]any{"name": "etc-ssl", "emptyDir": map[string]any{}}),
	},
	"an object that is being deleted": {
		target: "kube-scheduler", kept: `"deletionTimestamp"`,
		edit: set("2025-01-01T00:00:00Z", "metadata", "deletionTimestamp"),
	},
	"a setting of the kernel with a comment": {
		target: "operatingsystemconfig", kept: "# why",
		edit: inItem([]string{"spec", "files"}, "path", sysctlPath, func(_ *testing.T, file map[string]any) {
			inline := file["content"].(map[string]any)["inline"].(map[string]any)
			inline["data"] = "# why\n" + inline["data"].(string)
		}),
	},
}
