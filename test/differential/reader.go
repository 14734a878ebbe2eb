// A server's reading of request bodies, for the tests in this folder: one process answers questions on its standard
// input, each with what several ways of decoding make of the same bytes.
//
// A question is a letter (J: the fields of a JSON body, V: its whole value, F: a form), the Content-Type and the body, each behind its length in four bytes.
// An answer is a JSON text behind its length.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"runtime"
	"strings"
	"unicode"
)

type reading struct {
	Reader string         `json:"reader"`
	Error  string         `json:"error,omitempty"`
	Fields map[string]any `json:"fields,omitempty"`
}

type streamOptions struct {
	IncludeUsage *bool `json:"include_usage"`
}

// As relays declare them: pointers, so that an absent member is no zero.
type typedBody struct {
	Model               *string        `json:"model"`
	Stream              *bool          `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options"`
	N                   *int           `json:"n"`
	BestOf              *int           `json:"best_of"`
	MaxTokens           *uint          `json:"max_tokens"`
	MaxCompletionTokens *uint          `json:"max_completion_tokens"`
	MaxOutputTokens     *uint          `json:"max_output_tokens"`
	Size                *string        `json:"size"`
	Quality             *string        `json:"quality"`
	PartialImages       *int           `json:"partial_images"`
	PreviousResponseID  *string        `json:"previous_response_id"`
	Background          *bool          `json:"background"`
}

type looseOptions struct {
	IncludeUsage any `json:"include_usage"`
}

// Whatever stands there, so that nothing is refused by its type.
type looseBody struct {
	Model               any           `json:"model"`
	Stream              any           `json:"stream"`
	StreamOptions       *looseOptions `json:"stream_options"`
	N                   any           `json:"n"`
	BestOf              any           `json:"best_of"`
	MaxTokens           any           `json:"max_tokens"`
	MaxCompletionTokens any           `json:"max_completion_tokens"`
	MaxOutputTokens     any           `json:"max_output_tokens"`
	Size                any           `json:"size"`
	Quality             any           `json:"quality"`
	PartialImages       any           `json:"partial_images"`
	PreviousResponseID  any           `json:"previous_response_id"`
	Background          any           `json:"background"`
}

var names = []string{"model", "stream", "n", "best_of", "max_tokens", "max_completion_tokens", "max_output_tokens",
	"size", "quality", "partial_images", "previous_response_id", "background"}

func readJSON(body []byte) []reading {
	return []reading{readTyped(body), readLoose(body), readMap(body)}
}

func readTyped(body []byte) reading {
	var t typedBody
	if err := json.Unmarshal(body, &t); err != nil {
		return reading{Reader: "go struct", Error: err.Error()}
	}
	fields := map[string]any{}
	put := func(name string, isThere bool, value func() any) {
		if isThere {
			fields[name] = value()
		}
	}
	put("model", t.Model != nil, func() any { return *t.Model })
	put("stream", t.Stream != nil, func() any { return *t.Stream })
	put("n", t.N != nil, func() any { return *t.N })
	put("best_of", t.BestOf != nil, func() any { return *t.BestOf })
	put("max_tokens", t.MaxTokens != nil, func() any { return *t.MaxTokens })
	put("max_completion_tokens", t.MaxCompletionTokens != nil, func() any { return *t.MaxCompletionTokens })
	put("max_output_tokens", t.MaxOutputTokens != nil, func() any { return *t.MaxOutputTokens })
	put("size", t.Size != nil, func() any { return *t.Size })
	put("quality", t.Quality != nil, func() any { return *t.Quality })
	put("partial_images", t.PartialImages != nil, func() any { return *t.PartialImages })
	put("previous_response_id", t.PreviousResponseID != nil, func() any { return *t.PreviousResponseID })
	put("background", t.Background != nil, func() any { return *t.Background })
	if t.StreamOptions != nil && t.StreamOptions.IncludeUsage != nil {
		fields["include_usage"] = *t.StreamOptions.IncludeUsage
	}
	return reading{Reader: "go struct", Fields: fields}
}

func readLoose(body []byte) reading {
	var l looseBody
	if err := json.Unmarshal(body, &l); err != nil {
		return reading{Reader: "go loose struct", Error: err.Error()}
	}
	fields := map[string]any{}
	values := []any{l.Model, l.Stream, l.N, l.BestOf, l.MaxTokens, l.MaxCompletionTokens, l.MaxOutputTokens, l.Size,
		l.Quality, l.PartialImages, l.PreviousResponseID, l.Background}
	for i, name := range names {
		fields[name] = values[i]
	}
	if l.StreamOptions != nil {
		fields["include_usage"] = l.StreamOptions.IncludeUsage
	}
	return reading{Reader: "go loose struct", Fields: fields}
}

func readMap(body []byte) reading {
	var m map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&m); err != nil {
		return reading{Reader: "go map", Error: err.Error()}
	}
	fields := map[string]any{}
	for _, name := range names {
		fields[name] = m[name]
	}
	if options, ok := m["stream_options"].(map[string]any); ok {
		fields["include_usage"] = options["include_usage"]
	}
	return reading{Reader: "go map", Fields: fields}
}

func readValues(body []byte) []reading {
	return []reading{readValue("go map", body, false), readValue("go struct", body, true)}
}

func readValue(reader string, body []byte, foldsNames bool) reading {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := nextValue(decoder, foldsNames)
	if err != nil {
		return reading{Reader: reader, Error: err.Error()}
	}
	return reading{Reader: reader, Fields: map[string]any{"value": value}}
}

// No number counts. Of members with one name the last is kept, as in a map and in a struct.
func nextValue(decoder *json.Decoder, foldsNames bool) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		members := map[string]any{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			member, err := nextValue(decoder, foldsNames)
			if err != nil {
				return nil, err
			}
			if foldsNames {
				members[strings.Map(foldedRune, name.(string))] = member
			} else {
				members[name.(string)] = member
			}
		}
		_, err := decoder.Token()
		return members, err
	case json.Delim('['):
		items := []any{}
		for decoder.More() {
			item, err := nextValue(decoder, foldsNames)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err := decoder.Token()
		return items, err
	}
	if _, ok := token.(json.Number); ok {
		return 0, nil
	}
	return token, nil
}

// As encoding/json compares the names of members with those of a struct: by the simple foldings of Unicode.
func foldedRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

func readForm(contentType string, body []byte) []reading {
	return []reading{readParsedForm(contentType, body), readParts(contentType, body)}
}

func formReader(contentType string, body []byte) (*multipart.Reader, error) {
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(mediaType, "multipart/") || params["boundary"] == "" {
		return nil, errors.New("not a form")
	}
	return multipart.NewReader(bytes.NewReader(body), params["boundary"]), nil
}

func readParsedForm(contentType string, body []byte) reading {
	result := reading{Reader: "go ReadForm"}
	reader, err := formReader(contentType, body)
	if err == nil {
		var form *multipart.Form
		if form, err = reader.ReadForm(64 << 20); err == nil {
			result.Fields = map[string]any{}
			for name, values := range form.Value {
				result.Fields[name] = values
			}
			for name, files := range form.File {
				result.Fields["file:"+name] = len(files)
			}
			return result
		}
	}
	result.Error = err.Error()
	return result
}

func readParts(contentType string, body []byte) reading {
	result := reading{Reader: "go NextPart", Fields: map[string]any{}}
	reader, err := formReader(contentType, body)
	for err == nil {
		var part *multipart.Part
		if part, err = reader.NextPart(); err != nil {
			break
		}
		var content []byte
		if content, err = io.ReadAll(part); err != nil {
			break
		}
		name := part.FormName()
		if part.FileName() != "" {
			count, _ := result.Fields["file:"+name].(int)
			result.Fields["file:"+name] = count + 1
			continue
		}
		values, _ := result.Fields[name].([]string)
		result.Fields[name] = append(values, string(content))
	}
	if err != io.EOF {
		return reading{Reader: "go NextPart", Error: err.Error()}
	}
	return result
}

func block(in *bufio.Reader) ([]byte, error) {
	var size uint32
	if err := binary.Read(in, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err := io.ReadFull(in, data)
	return data, err
}

func answer(out *bufio.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := binary.Write(out, binary.BigEndian, uint32(len(text))); err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return out.Flush()
}

func serve() error {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	if err := answer(out, runtime.Version()); err != nil {
		return err
	}
	for {
		kind, err := in.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		contentType, err := block(in)
		if err != nil {
			return err
		}
		body, err := block(in)
		if err != nil {
			return err
		}
		var readings []reading
		switch kind {
		case 'J':
			readings = readJSON(body)
		case 'V':
			readings = readValues(body)
		default:
			readings = readForm(string(contentType), body)
		}
		if err := answer(out, readings); err != nil {
			return err
		}
	}
}

func main() {
	if err := serve(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
