//go:build system

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
)

// reduce returns a picture with its 256 most frequent colours, which suffices for letters on a few backgrounds.
func reduce(shot []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	counts := map[color.RGBA]int{}
	bounds := full.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]),
			cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := make(color.Palette, 0, 256)
	for _, one := range frequent[:min(256, len(frequent))] {
		palette = append(palette, one)
	}
	reduced := image.NewPaletted(bounds, palette)
	draw.Draw(reduced, bounds, full, bounds.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced)
	return out.Bytes(), err
}
