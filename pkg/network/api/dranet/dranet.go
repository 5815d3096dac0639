// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package dranet serves the webhook contract of DRANET: as a cloud provider it returns facts of devices, and as a
// profile provider it allocates addresses for the devices of ResourceClaims. It accepts all forms of requests that its
// clients have sent: with the UID of the claim or the whole claim, and with device names of Kubernetes, of Linux, or
// none.
//
// An allocation belongs to a device of a claim; match.go identifies both. The policy and the service make all
// decisions: the package calls no cloud and no store. Start reading at New.
package dranet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// contract is the name of the contract in the owners of its allocations.
const contract = "dranet"

// patience limits the work on a request. It is less than DRANET's timeout of 10 seconds (DRANET:
// pkg/cloudprovider/webhook).
const patience = 9 * time.Second

type handler struct {
	api.Options
	// claims serializes the requests of this process for each claim.
	claims ledger.KeyedLocks[string]
}

// New returns the handler for the five paths of the contract. DRANET treats each status except 200 as a failure.
func New(o api.Options) http.Handler {
	return newHandler(o, patience)
}

func newHandler(o api.Options, patience time.Duration) http.Handler {
	h := &handler{Options: o}
	limit := func(*http.Request) time.Duration { return patience }
	return api.NewMux(o.Log, statuses,
		api.Endpoint{Method: http.MethodGet, Path: "/health", Serve: h.health},
		api.Post(o, "/GetDeviceAttributes", limit, http.StatusOK, h.attributes),
		api.Post(o, "/GetDeviceConfig", limit, http.StatusOK, h.deviceConfig),
		api.Post(o, "/GetProfileConfig", limit, http.StatusOK, h.allocate),
		api.Post(o, "/ReleaseProfileConfig", limit, http.StatusOK, h.release),
	)
}

// health returns the values that DRANET compares with its own flags at start.
func (h *handler) health(w http.ResponseWriter, _ *http.Request) error {
	p := h.Policy()
	api.Write(w, http.StatusOK, map[string]bool{"cloudProvider": p.HasDevices(), "profileProvider": p.HasProfiles()})
	return nil
}

func (h *handler) attributes(ctx context.Context, d *device.Device) (any, error) {
	if err := checkDevice(*d); err != nil {
		return nil, err
	}
	described, err := h.describe(ctx, canonical(*d))
	if err != nil {
		return nil, err
	}
	own, err := h.Policy().Attributes(ctx, canonical(*d))
	if err != nil {
		return nil, err
	}
	attributes := described.Attributes
	maps.Copy(attributes, own)
	if err := device.ValidateAttributes(attributes); err != nil {
		return nil, invalidResponse("the attributes of the device", err)
	}
	return attributes, nil
}

// describe returns the attributes and the configuration of a device that the clouds of the profiles know. The caller
// may change the map.
func (h *handler) describe(ctx context.Context, d device.Device) (cloud.Description, error) {
	clouds, err := h.Policy().DeviceClouds(ctx, d)
	if err != nil || d.MAC == "" {
		return cloud.Description{Attributes: map[string]device.Attribute{}}, err
	}
	return h.Service.DescribeDevice(ctx, clouds, d.MAC)
}

// configuration returns the configuration of a device for all users. Profiles override clouds.
func (h *handler) configuration(ctx context.Context, d device.Device) (device.Config, error) {
	known, err := h.describe(ctx, d)
	if err != nil {
		return device.Config{}, err
	}
	own, err := h.Policy().DeviceConfig(ctx, d)
	return device.Merge(known.Config, own), err
}

func (h *handler) deviceConfig(ctx context.Context, d *device.Device) (any, error) {
	if err := checkDevice(*d); err != nil {
		return nil, err
	}
	config, err := h.configuration(ctx, canonical(*d))
	if err != nil {
		return nil, err
	}
	if err := config.Validate(); err != nil {
		return nil, invalidResponse("the configuration of the device", err)
	}
	return config, nil
}

// release releases the allocation of a device of a claim. It ignores unknown devices, because they were released
// before. It requires only the claim and some name of the device; it does not check the configuration, because DRANET
// has extended it since.
func (h *handler) release(ctx context.Context, r *request) (any, error) {
	uid, _, err := r.uid()
	if err != nil {
		return nil, err
	}
	unlock, err := h.claims.Lock(ctx, uid)
	if err != nil {
		return nil, err
	}
	defer unlock()
	held, err := h.Service.Owned(ctx, ownerOf(uid+"/"))
	if err != nil {
		return nil, err
	}
	by := search{who: identify(r.Device), addresses: r.addresses()}
	found := by.released(held)
	if key, unknown := by.key(uid); len(found) == 0 && unknown == nil {
		return nil, h.Service.Release(ctx, ownerOf(key)) // a concurrent request must not allocate it afterwards
	}
	var problems []error
	for _, c := range found {
		problems = append(problems, h.Service.Release(ctx, c.Owner))
	}
	return nil, errors.Join(problems...)
}

// statuses lists deviations of the contract from the usual codes: it defines 400, 404, 409 and 500, and 500 for
// temporary errors.
var statuses = []api.Status{
	{Err: network.ErrBusy, Status: http.StatusTooManyRequests},
	{Err: network.ErrRefused, Status: http.StatusBadRequest},
	{Err: network.ErrQuota, Status: http.StatusConflict},
	{Err: network.ErrUnknownPool, Status: http.StatusInternalServerError},
	{Err: network.ErrExhausted, Status: http.StatusInternalServerError},
	{Err: network.ErrUnavailable, Status: http.StatusInternalServerError},
	{Err: context.DeadlineExceeded, Status: http.StatusInternalServerError},
	{Err: context.Canceled, Status: http.StatusInternalServerError},
}

func badRequest(format string, values ...any) *api.Problem {
	return api.Problemf(http.StatusBadRequest, format, values...)
}

// invalidResponse returns the problem of an invalid response: the author of the profile, or of Graft, must fix it.
func invalidResponse(what string, err error) *api.Problem {
	return &api.Problem{
		Status:  http.StatusInternalServerError,
		Message: fmt.Sprintf("the profile on the server gives an invalid answer: %s: %s", what, err),
		Cause:   fmt.Errorf("the answer is invalid and not sent: %s: %w", what, err),
	}
}
