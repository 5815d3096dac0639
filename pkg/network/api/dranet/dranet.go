// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package dranet speaks the webhook contract of DRANET as a cloud provider (facts of devices) and as a profile provider (addresses for the devices
// of ResourceClaims), in all shapes that its clients have sent: with the UID of the claim or with the whole claim, and with names of devices that
// are those of Kubernetes, those of Linux or empty. An allocation belongs to a device of a claim; see identity.go for how both are known again.
//
// It decides nothing itself: the policy and the service do. It must not ask a cloud or a store. Enter at New.
package dranet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// contract is the name under which owners are kept.
const contract = "dranet"

// patience is how long a request is worked on while its caller waits: DRANET gives up after 10 seconds (pkg/cloudprovider/webhook).
const patience = 9 * time.Second

type handler struct {
	api.Options
	patience time.Duration
	// claims serializes the requests of this process for each claim.
	claims ledger.Keyed[string]
}

// New serves the five paths of the contract. Successes are exactly 200: to DRANET everything else is a failure.
func New(o api.Options) http.Handler {
	return newHandler(o, patience)
}

func newHandler(o api.Options, patience time.Duration) http.Handler {
	h := &handler{Options: o, patience: patience}
	return api.NewMux(o.Log,
		api.Endpoint{Method: http.MethodGet, Path: "/health", Serve: h.health},
		api.Endpoint{Method: http.MethodPost, Path: "/GetDeviceAttributes", Serve: h.attributes},
		api.Endpoint{Method: http.MethodPost, Path: "/GetDeviceConfig", Serve: h.deviceConfig},
		api.Endpoint{Method: http.MethodPost, Path: "/GetProfileConfig", Serve: h.profileConfig},
		api.Endpoint{Method: http.MethodPost, Path: "/ReleaseProfileConfig", Serve: h.releaseProfileConfig},
	)
}

// capabilities holds the values that DRANET compares with its own flags at start.
type capabilities struct {
	CloudProvider   bool `json:"cloudProvider"`
	ProfileProvider bool `json:"profileProvider"`
}

func (h *handler) health(w http.ResponseWriter, _ *http.Request) error {
	p := h.Policy()
	api.Write(w, http.StatusOK, capabilities{CloudProvider: p.HasDevices(), ProfileProvider: p.HasProfiles()})
	return nil
}

func (h *handler) attributes(w http.ResponseWriter, r *http.Request) error {
	d, err := h.readDevice(w, r)
	if err != nil {
		return err
	}
	attributes, err := h.Policy().Attributes(r.Context(), d)
	if err != nil {
		return err
	}
	if err := device.ValidateAttributes(attributes); err != nil {
		return broken("the attributes of the device", err)
	}
	if attributes == nil {
		attributes = map[string]device.Attribute{}
	}
	api.Write(w, http.StatusOK, attributes)
	return nil
}

func (h *handler) deviceConfig(w http.ResponseWriter, r *http.Request) error {
	d, err := h.readDevice(w, r)
	if err != nil {
		return err
	}
	config, err := h.Policy().DeviceConfig(r.Context(), d)
	if err != nil {
		return err
	}
	if err := config.Validate(); err != nil {
		return broken("the configuration of the device", err)
	}
	api.Write(w, http.StatusOK, config)
	return nil
}

func (h *handler) readDevice(w http.ResponseWriter, r *http.Request) (device.Device, error) {
	var d device.Device
	if err := api.Read(w, r, h.MaximumBytes, &d); err != nil {
		return d, err
	}
	return canonical(d), checkDevice(d)
}

func (h *handler) profileConfig(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), h.patience)
	defer cancel()
	var asked request
	if err := api.Read(w, r, h.MaximumBytes, &asked); err != nil {
		return err
	}
	answer, err := h.allocate(ctx, &asked)
	if err != nil {
		return problemOf(err)
	}
	api.Write(w, http.StatusOK, answer)
	return nil
}

func (h *handler) releaseProfileConfig(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), h.patience)
	defer cancel()
	var asked request
	if err := api.Read(w, r, h.MaximumBytes, &asked); err != nil {
		return err
	}
	if err := h.release(ctx, &asked); err != nil {
		return problemOf(err)
	}
	api.Write(w, http.StatusOK, nil)
	return nil
}

// release releases the allocation of a device of a claim. It ignores unknown devices, because they were released
// before. It requires only the claim and some name of the device; it does not check the configuration, because DRANET
// has extended it since.
func (h *handler) release(ctx context.Context, r *request) error {
	uid, err := r.uid()
	if err == nil {
		err = checkDevice(r.Device)
	}
	if err != nil {
		return err
	}
	unlock, err := h.claims.Lock(ctx, uid)
	if err != nil {
		return err
	}
	defer unlock()
	held, err := h.Service.Owned(ctx, ownerOf(uid+"/"))
	if err != nil {
		return err
	}
	by := search{who: identify(r.Device), addresses: addresses(r.listed())}
	found := by.released(candidates(held))
	if key, unknown := by.key(uid); len(found) == 0 && unknown == nil {
		return h.Service.Release(ctx, ownerOf(key)) // a request that is under way must not allocate it later
	}
	var problems []error
	for _, c := range found {
		problems = append(problems, h.Service.Release(ctx, c.owner))
	}
	return errors.Join(problems...)
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

func problemOf(err error) *api.Problem { return api.ProblemOf(err, statuses...) }

func bad(format string, values ...any) *api.Problem {
	return api.Problemf(http.StatusBadRequest, format, values...)
}

// broken returns the problem of an invalid response: the author of the profile, or of Graft, must fix it.
func broken(what string, err error) *api.Problem {
	return &api.Problem{
		Status:  http.StatusInternalServerError,
		Message: fmt.Sprintf("the server's profile is broken: %s: %s", what, err),
		Cause:   fmt.Errorf("a broken answer is not sent: %s: %w", what, err),
	}
}
