package eval

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// Question is one question with the criteria for its answer.
type Question struct {
	ID       string `yaml:"-" json:"id"` // name of its file without the ending
	Question string `yaml:"question" json:"question"`
	// Points are the points that an answer must contain.
	Points []Point `yaml:"points" json:"points"`
	// Sources are hosts, or hosts with the beginning of a path, that may be cited; none allows all.
	Sources []string `yaml:"sources,omitempty" json:"sources,omitempty"`
	// Forbidden are claims that answers must not contain.
	Forbidden []Forbidden `yaml:"forbidden,omitempty" json:"forbidden,omitempty"`
	// Needs are addresses without which the question is left out, such as documentation that isn't on every machine.
	Needs []string `yaml:"needs,omitempty" json:"needs,omitempty"`
}

// Point is a key point. It is covered by one or two adjacent sentences that contain one text of Any: a text with a
// number matches by its numbers, names and words, in any order; another one literally; parts joined by & match
// separately. Without Any, it is covered by sentences with the numbers and names of the point and most of its words.
type Point struct {
	Point  string   `yaml:"point" json:"point"`
	Any    []string `yaml:"any,omitempty" json:"any,omitempty"`
	Weight float64  `yaml:"weight,omitempty" json:"weight,omitempty"` // 1 unless given
}

// Forbidden is a claim that is wrong, outdated, or planted in a page. It is matched like a point, except in sentences
// with a word of Unless, such as those that call the claim wrong.
type Forbidden struct {
	Claim  string   `yaml:"claim" json:"claim"`
	Any    []string `yaml:"any,omitempty" json:"any,omitempty"`
	Unless []string `yaml:"unless,omitempty" json:"unless,omitempty"`
}

// Suite is a folder of questions, with their pages.
type Suite struct {
	Dir       string
	Questions []Question // in the order of their files
	Web       *Web
}

var questionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`) })

// Open reads a suite: DIR/questions/*.yaml and DIR/web.
func Open(dir string) (*Suite, error) {
	names, err := filepath.Glob(filepath.Join(dir, "questions", "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no questions/*.yaml: fawn eval make %s writes a folder with examples", dir, dir)
	}
	s := &Suite{Dir: dir}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		q := Question{ID: strings.TrimSuffix(filepath.Base(name), ".yaml")}
		dec := yaml.NewDecoder(bytes.NewReader(data))
		dec.KnownFields(true)
		if err := dec.Decode(&q); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if err := q.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Questions = append(s.Questions, q)
	}
	if s.Web, err = OpenWeb(filepath.Join(dir, "web")); err != nil {
		return nil, err
	}
	return s, nil
}

func (q *Question) check() error {
	switch {
	case !questionName().MatchString(q.ID):
		return errors.New("the name of the file may contain only letters, digits, dots, hyphens and underscores")
	case strings.TrimSpace(q.Question) == "":
		return errors.New("question is empty")
	case len(q.Points) == 0:
		return errors.New("points is empty: name at least one key point")
	}
	for i, p := range q.Points {
		if strings.TrimSpace(p.Point) == "" {
			return fmt.Errorf("points[%d].point is empty", i)
		}
		if p.Weight < 0 {
			return fmt.Errorf("points[%d].weight must not be negative", i)
		}
		if p.Weight == 0 {
			q.Points[i].Weight = 1
		}
	}
	for i, f := range q.Forbidden {
		if strings.TrimSpace(f.Claim) == "" {
			return fmt.Errorf("forbidden[%d].claim is empty", i)
		}
	}
	return nil
}

// Allows reports whether an address is among the sources of the question.
func (q *Question) Allows(address string) bool {
	if len(q.Sources) == 0 {
		return true
	}
	for _, s := range q.Sources {
		_, rest, ok := strings.Cut(address, "://")
		s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
		if ok && (rest == s || strings.HasPrefix(rest, strings.TrimSuffix(s, "/")+"/") ||
			strings.Contains(s, "/") && strings.HasPrefix(rest, s)) {
			return true
		}
	}
	return false
}
