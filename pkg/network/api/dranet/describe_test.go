// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// describer is a cloud with one device.
type describer struct {
	fakeCloud
	err error
}

func (d *describer) Describe(_ context.Context, mac string) (cloud.Description, error) {
	if mac != "46:8f:01:02:03:04" {
		return cloud.Description{}, d.err
	}
	network, mtu := "n1", int32(1450)
	return cloud.Description{
		Attributes: map[string]device.Attribute{"acme.com/network": {String: &network}},
		Config: device.Config{
			Interface: device.Interface{MTU: &mtu}, Routes: []device.Route{{Destination: "10.20.0.0/16", Gateway: "10.0.0.254"}},
		},
	}, d.err
}

// TestDescribe checks that a cloud adds attributes and configuration to devices, and that profiles override them.
func TestDescribe(t *testing.T) {
	w := newWorld(t, "testdata/cloud.yaml", nil)
	behind := &describer{}
	w.options.Service.Configure(nil, map[string]service.LimitedCloud{"neutron": {Cloud: behind}})
	const known, unknown = `{"name":"eth0","mac_address":"46:8f:01:02:03:04"}`, `{"name":"eth1","mac_address":"46:8f:01:02:03:05"}`
	for _, test := range []struct{ path, device, want string }{
		{"/GetDeviceAttributes", known, `{"acme.com/network":{"string":"n1"}}`},
		{"/GetDeviceAttributes", unknown, `{"acme.com/rack":{"string":"r1"}}`},
		{"/GetDeviceAttributes", `{"name":"eth0"}`, `{}`},
		{"/GetDeviceConfig", known, `{"interface":{"mtu":1450},"routes":[{"destination":"10.20.0.0/16","gateway":"10.0.0.254"}]}`},
		{"/GetDeviceConfig", strings.Replace(known, "eth0", "eth1", 1),
			`{"interface":{"mtu":1400},"routes":[{"destination":"10.20.0.0/16","gateway":"10.0.0.254"}]}`},
	} {
		if status, answer := w.post(test.path, test.device); status != http.StatusOK || strings.TrimSpace(answer) != test.want {
			t.Errorf("%s of %s: got %d %s, want %s", test.path, test.device, status, answer, test.want)
		}
	}
	behind.err = errors.New("OpenStack answered 500")
	if status, answer := w.post("/GetDeviceAttributes", known); status != http.StatusInternalServerError {
		t.Errorf("a cloud that fails: got %d %s", status, answer)
	}
}
