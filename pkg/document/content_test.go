// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"
	"unicode/utf8"
)

func TestContent(t *testing.T) {
	for name, tt := range map[string]struct{ inline, text, set, want string }{
		"replaces plain text":                 {`{"encoding":"","data":"a\nb","x":1}`, "a\nb", "a\n\"é", `{"encoding":"","data":"a\n\"é","x":1}`},
		"replaces text without an encoding":   {`{"data":"a"}`, "a", "b", `{"data":"b"}`},
		"replaces text with a null encoding":  {`{"encoding":null,"data":"a"}`, "a", "b", `{"encoding":null,"data":"b"}`},
		"replaces base64":                     {`{"encoding":"b64","data":"YQ=="}`, "a", "b\xff", `{"encoding":"b64","data":"Yv8="}`},
		"b64 in lines":                        {`{"encoding":"b64","data":"YW\nI="}`, "ab", "ab", `{"encoding":"b64","data":"YW\nI="}`},
		"adds data to a file without any":     {`{"encoding":"b64"}`, "", "a", `{"encoding":"b64","data":"YQ=="}`},
		"keeps the spelling of an equal text": {`{"encoding":"","data":"\u0061"}`, "a", "a", `{"encoding":"","data":"\u0061"}`},
		"replaces text by an empty text":      {`{"encoding":"b64","data":"YQ=="}`, "a", "", `{"encoding":"b64","data":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, tt.inline)
			c, err := ContentOf(d.Root())
			must(t, err)
			if string(c.Text()) != tt.text {
				t.Errorf("text %q", c.Text())
			}
			must(t, c.SetText([]byte(tt.set)))
			if string(d.Bytes()) != tt.want || d.Changed() != (tt.inline != tt.want) || string(c.Text()) != tt.set {
				t.Errorf("%s, text %q", d.Bytes(), c.Text())
			}
		})
	}
}

func TestContentErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		inline string
		want   error
	}{
		"rejects an unknown encoding":          {`{"encoding":"gzip","data":"a"}`, ErrContent},
		"rejects an encoding in upper case":    {`{"encoding":"B64","data":"YQ=="}`, ErrContent},
		"rejects base64 of a wrong length":     {`{"encoding":"b64","data":"YQ="}`, ErrContent},
		"rejects data that is not base64":      {`{"encoding":"b64","data":"ä"}`, ErrContent},
		"data no string":                       {`{"data":1}`, ErrContent},
		"encoding no text":                     {`{"encoding":{},"data":"a"}`, ErrContent},
		"rejects a document that is no object": {`"a"`, ErrKind},
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := ContentOf(parse(t, tt.inline).Root()); !errors.Is(err, tt.want) || c != nil {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("fails without a node", func(t *testing.T) {
		if _, err := ContentOf(nil); !errors.Is(err, ErrKind) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("not UTF-8 in plain text", func(t *testing.T) {
		d := parse(t, `{"data":"a"}`)
		c, err := ContentOf(d.Root())
		must(t, err)
		if err := c.SetText([]byte("\xff")); !errors.Is(err, ErrContent) || d.Changed() || string(c.Text()) != "a" {
			t.Errorf("error %v", err)
		}
	})
}

// FuzzContent checks that a set value is read back, that a second set is no edit, and that the encoding and other
// members stay.
func FuzzContent(f *testing.F) {
	f.Add("b64", "YQ==", []byte("\x00\xff"))
	f.Add("", "a\"", []byte("é\n"))
	f.Add("b64", "Y\r\nQ==", []byte("a"))
	f.Fuzz(func(t *testing.T, encoding, data string, text []byte) {
		raw := `{"x":1.50,"encoding":` + string(Quote(encoding)) + `,"data":` + string(Quote(data)) + `}`
		d := parse(t, raw)
		c, err := ContentOf(d.Root())
		_, broken := base64.StdEncoding.DecodeString(data)
		if err != nil {
			if !errors.Is(err, ErrContent) || encoding == "" || encoding == "b64" && broken == nil {
				t.Fatal(err)
			}
			return
		}
		was := bytes.Clone(c.Text())
		if err := c.SetText(text); err != nil {
			if !errors.Is(err, ErrContent) || encoding != "" || utf8.Valid(text) || d.Changed() {
				t.Fatal(err)
			}
			return
		}
		if same := bytes.Equal(was, text); same == d.Changed() || same && string(d.Bytes()) != raw {
			t.Fatalf("changed %t: %s", d.Changed(), d.Bytes())
		}
		d = parse(t, string(d.Bytes()))
		again, err := ContentOf(d.Root())
		must(t, err)
		must(t, again.SetText(text))
		if !bytes.Equal(again.Text(), text) || d.Changed() || !d.Root().Get("encoding").Is(encoding) || string(d.Root().Get("x").Raw()) != "1.50" {
			t.Fatalf("%s", d.Bytes())
		}
	})
}
