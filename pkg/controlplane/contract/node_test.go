// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// TestProtectNode checks that the quick comparison of usual OperatingSystemConfigs gives the same errors as the complete one,
// with random objects and edits.
func TestProtectNode(t *testing.T) {
	found, _ := target.Lookup("node")
	none := func(string) bool { return false }
	for seed := range uint64(60_000) {
		random := nodes{rand.New(rand.NewPCG(seed, 0))}
		raw := fmt.Sprintf(`{"metadata":{"name":"x"},"spec":{"units":[%s],"files":[%s]}}`,
			random.list(random.anyUnit, 1+random.IntN(3)), random.list(random.file, random.IntN(4)))
		parsed, err := document.Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + random.IntN(2) {
			if err := random.edit(parsed.Root()); err != nil {
				t.Fatal(err)
			}
		}
		o := &target.Object{Target: found, Form: &found.Forms[0], Document: parsed}
		want, got := contract.ProtectKubelet(o, none), contract.Protect(o, contract.Today, none)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: the error is %v, want %v, for\n%s\nedited to\n%s", seed, got, want, raw, parsed.Bytes())
		}
	}
}

// nodes makes random parts of OperatingSystemConfigs, which often belong to the kubelet's service.
type nodes struct{ *rand.Rand }

func (r nodes) pick(from ...string) string { return from[r.IntN(len(from))] }

func (r nodes) list(item func() string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item()
	}
	return strings.Join(items, ",")
}

func (r nodes) content() string {
	var options strings.Builder
	for range max(0, r.IntN(5)-2) {
		options.WriteString(r.pick("Environment=GO=1", "Environment=GO=2", "Environment=KUBELET_EXTRA_ARGS=--v=3", "PassEnvironment=KUBELET_EXTRA_ARGS",
			"EnvironmentFile=-/var/lib/kubelet/extra_args", "EnvironmentFile=/etc/default/kubelet", "EnvironmentFile=/etc/*", "EnvironmentFile=/etc/%i",
			"PAMName=x", "Nice=5", "[Install]\nAlias=y.service\n[Service]", "[Install]\nAlias=kubelet.service\n[Service]") + "\n")
	}
	return strconv.Quote("[Service]\n" + options.String() + "ExecStart=" + r.pick("/opt/bin/kubelet", "/opt/bin/kubelet", "/opt/bin/kubelet", "/etc/x") +
		r.pick("", " --v=2") + r.pick("", " --cloud-provider=external", " --config=/d") + r.pick("", " $KUBELET_EXTRA_ARGS") + "\n")
}

func (r nodes) anyUnit() string {
	return r.unit(r.pick("kubelet.service", "kubelet.service", "kubelet.service", "a.service", "b.service", "y.service", "service", "a.service.d/x.conf", "x/../kubelet.service"))
}

func (r nodes) unit(name string) string {
	dropIn := func(name, text string) string {
		return fmt.Sprintf(`{"name":%q,"content":%q}`, name, "[Service]\n"+text+"\n")
	}
	nice, variable := dropIn("x.conf", "Nice=5"), dropIn("x.conf", "Environment=KUBELET_EXTRA_ARGS=x")
	return fmt.Sprintf(`{"name":%q,"content":%s,"dropIns":[%s]}`, name, r.content(),
		r.pick("", "", "", nice, variable, nice+","+nice, dropIn("../b.service", "Nice=5")))
}

func (r nodes) file() string {
	return fmt.Sprintf(`{"path":%q,"content":%s}`,
		r.pick("/etc/x", "/etc/y", "/etc/z", "/etc/./x", "/lib/q", "/usr/lib/q", "/etc/environment", "/etc/default/kubelet", "/var/lib/kubelet/extra_args",
			"/opt/bin/kubelet", "/var/lib/kubelet/config/kubelet", "/etc/systemd/containerd.conf", "/etc/systemd/system.conf", "/etc/systemd/system/b.service",
			"/etc/systemd/system/kubelet.service.d/x.conf", "/etc/systemd/system/a.service.d/x.conf", "/run/systemd/system/kubelet.service",
			"/run/systemd/system/r.service", "/run/systemd/system/y.service.d/x.conf"),
		r.pick(`{"inline":{"data":"x"}}`, `{"inline":{"data":"KUBELET_EXTRA_ARGS=--v"}}`, `{"imageRef":{"image":"y"}}`, `{"secretRef":{"name":"x"}}`,
			`{"inline":{"data":"[Service]\nNice=5\n"}}`, `{"inline":{"data":"[Service]\nEnvironmentFile=/etc/default/kubelet\n"}}`, `{"inline":{"data":"[Install]\nAlias=kubelet.service\n"}}`))
}

// edit makes a random edit.
func (r nodes) edit(root *document.Node) error {
	files, units := root.Find("spec", "files"), root.Find("spec", "units")
	switch kind := r.IntN(10); {
	case kind < 3:
		_, err := units.Item(r.IntN(units.Len())).Set("content", []byte(r.content()))
		return err
	case kind == 3:
		_, err := units.Append([]byte(r.unit("z.service")))
		return err
	case kind == 4 || files.Len() == 0:
		_, err := files.Append([]byte(r.file()))
		return err
	case kind == 5:
		files.RemoveItem(r.IntN(files.Len()))
		return nil
	case kind == 6:
		_, err := files.Item(r.IntN(files.Len())).Set("content", []byte(`{"inline":{"data":"KUBELET_EXTRA_ARGS=z"}}`))
		return err
	case kind == 7:
		return units.Item(r.IntN(units.Len())).Replace([]byte(r.anyUnit()))
	default:
		return files.Item(r.IntN(files.Len())).Replace([]byte(r.file()))
	}
}
