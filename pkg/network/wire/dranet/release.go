// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"errors"
)

// release takes back what a device of a claim holds. What is not known has been released already. Nothing but the claim and some identity of the
// device is required; the configuration is not checked, as DRANET has put much into it by now.
func (h *handler) release(ctx context.Context, r *request) error {
	uid, err := r.uid()
	if err == nil {
		err = checkDevice(r.Device)
	}
	if err != nil {
		return err
	}
	found, err := h.findReleased(ctx, uid, search{who: identify(r.Device), addresses: addresses(r.listed())})
	if err != nil {
		return err
	}
	var problems []error
	for _, c := range found {
		problems = append(problems, h.Service.Release(ctx, c.owner))
	}
	return errors.Join(problems...)
}

func (h *handler) findReleased(ctx context.Context, claim string, s search) ([]candidate, error) {
	w, err := h.underway.enter(ctx, claim)
	if err != nil {
		return nil, err
	}
	defer h.underway.leave(claim, w)
	defer w.pass()
	held, err := h.Service.Owned(ctx, ownerOf(claim+"/"))
	if err != nil {
		return nil, err
	}
	return s.released(h.underway.candidates(w, held)), nil
}
