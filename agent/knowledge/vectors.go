package knowledge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"

	"fawn/agent/llm/llmerr"
	"fawn/store"
)

// Limits of embeddings and of requests for them.
const (
	cacheBytes    = 256 << 20 // limit of vectors in memory
	embedTogether = 64        // passages in one request
	embedText     = 2000      // bytes of a passage that are embedded
)

// vectors caches the vectors of recently searched collections, up to cacheBytes.
type vectors struct {
	mu      sync.Mutex
	list    []*shelfVectors // the most recently used last
	size    int64
	reading map[string]chan struct{} // by collection; closed when reading has finished
}

// shelfVectors are the vectors of one collection.
type shelfVectors struct {
	collection, model string
	version           int64
	large             bool // they don't fit into cacheBytes, so none are here
	ids               []int64
	dims              int
	values            []int8    // dims of each
	lengths           []float32 // length of each vector
}

func (v *shelfVectors) bytes() int64 { return int64(len(v.values) + 12*len(v.ids)) }

// add adds a vector, unless its length differs from earlier ones or the limit is reached.
func (v *shelfVectors) add(x store.Vector) {
	if !v.large && v.bytes() > cacheBytes {
		v.large, v.ids, v.values, v.lengths = true, nil, nil, nil
	}
	if v.large {
		return
	}
	if v.dims == 0 {
		v.dims = len(x.Values)
	}
	if len(x.Values) != v.dims || v.dims == 0 {
		return
	}
	sum := int32(0)
	for _, b := range x.Values {
		n := int8(b)
		v.values = append(v.values, n)
		sum += int32(n) * int32(n)
	}
	v.ids = append(v.ids, x.Passage)
	v.lengths = append(v.lengths, float32(math.Sqrt(float64(sum))))
}

// closest holds the passages with the highest cosine similarity to a query, best first.
type closest struct {
	query     []int8
	length    float32
	in, limit int
	best      []ranked
}

func lengthOf(v []int8) float32 {
	sum := float32(0)
	for _, n := range v {
		sum += float32(n) * float32(n)
	}
	return float32(math.Sqrt(float64(sum)))
}

// offer adds a passage if it is among the best.
func (c *closest) offer(id int64, values []int8, length float32) {
	far := -float64(dot(c.query, values)) / float64(max(c.length*length, 1))
	if len(c.best) == c.limit && far >= c.best[c.limit-1].rank {
		return
	}
	n, _ := slices.BinarySearchFunc(c.best, far, func(r ranked, far float64) int {
		if r.rank <= far {
			return -1
		}
		return 1
	})
	c.best = slices.Insert(c.best, n, ranked{in: c.in, id: id, rank: far})
	if len(c.best) > c.limit {
		c.best = c.best[:c.limit]
	}
}

// nearest returns the passages of a collection closest to a query. Vectors that don't fit into memory are read again.
func (s *Service) nearest(ctx context.Context, v *shelfVectors, q []int8, in, limit int) ([]ranked, error) {
	c := closest{query: q, length: lengthOf(q), in: in, limit: limit}
	if v.large {
		values := make([]int8, len(q))
		err := s.cfg.DB.Vectors(ctx, v.collection, v.model, func(x store.Vector) {
			if len(x.Values) != len(q) {
				return
			}
			for i, b := range x.Values {
				values[i] = int8(b)
			}
			c.offer(x.Passage, values, lengthOf(values))
		})
		return c.best, err
	}
	if len(q) != v.dims {
		return nil, nil
	}
	for i, id := range v.ids {
		c.offer(id, v.values[i*v.dims:(i+1)*v.dims], v.lengths[i])
	}
	return c.best, nil
}

func dot(a, b []int8) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// small quantizes a vector to numbers from -127 to 127; NaN becomes 0.
func small(v []float32) []int8 {
	most := float32(0)
	for _, x := range v {
		if a := float32(math.Abs(float64(x))); a > most && !math.IsInf(float64(a), 0) {
			most = a
		}
	}
	out := make([]int8, len(v))
	if most == 0 {
		return out
	}
	for i, x := range v {
		if y := math.Round(float64(x) * 127 / float64(most)); !math.IsNaN(y) {
			out[i] = int8(min(max(y, -127), 127))
		}
	}
	return out
}

func packed(v []int8) []byte {
	out := make([]byte, len(v))
	for i, n := range v {
		out[i] = byte(n)
	}
	return out
}

// near finds passages by meaning; none without an embedding model.
func (s *Service) near(ctx context.Context, list []store.Collection, query string) ([]ranked, error) {
	e := s.cfg.Embedder()
	if e == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	all := make([]*shelfVectors, 0, len(list))
	some := false
	for _, c := range list {
		v, err := s.vectorsOf(ctx, c.ID, e.Model())
		if err != nil {
			return nil, err
		}
		all = append(all, v)
		some = some || v.large || len(v.ids) > 0
	}
	if !some {
		return nil, nil
	}
	made, err := e.Embed(ctx, []string{cut(query, embedText)})
	if err != nil {
		return nil, fmt.Errorf("embed a query: %w", err)
	}
	if len(made) != 1 {
		return nil, fmt.Errorf("embed a query: %d vectors came back", len(made))
	}
	q := small(made[0])
	var found []ranked
	for i, v := range all {
		best, err := s.nearest(ctx, v, q, i, candidates)
		if err != nil {
			return nil, err
		}
		found = append(found, best...)
	}
	return found, nil
}

// vectorsOf returns the vectors of a collection, from the cache if it is current. Concurrent callers share one read,
// which doesn't block other collections.
func (s *Service) vectorsOf(ctx context.Context, collection, model string) (*shelfVectors, error) {
	version, err := s.cfg.DB.VectorVersion(ctx, collection)
	if err != nil {
		return nil, err
	}
	c := &s.vectors
	for {
		v, others := c.have(collection, model, version)
		if v != nil {
			return v, nil
		}
		if others == nil {
			break
		}
		select {
		case <-others:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	v := &shelfVectors{collection: collection, model: model, version: version}
	err = s.cfg.DB.Vectors(ctx, collection, model, v.add)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.reading[collection])
	delete(c.reading, collection)
	if err != nil {
		return nil, err
	}
	c.list, c.size = append(c.list, v), c.size+v.bytes()
	for c.size > cacheBytes && len(c.list) > 1 {
		c.size -= c.list[0].bytes()
		c.list = slices.Delete(c.list, 0, 1)
	}
	return v, nil
}

// have returns cached vectors at least as new as a version. Without any, the caller reads them, unless another caller
// does.
func (c *vectors) have(collection, model string, version int64) (v *shelfVectors, others <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, v := range c.list {
		if v.collection != collection {
			continue
		}
		c.list = slices.Delete(c.list, i, i+1)
		if v.model == model && v.version >= version {
			c.list = append(c.list, v)
			return v, nil
		}
		c.size -= v.bytes()
		break
	}
	if wait := c.reading[collection]; wait != nil {
		return nil, wait
	}
	if c.reading == nil {
		c.reading = map[string]chan struct{}{}
	}
	c.reading[collection] = make(chan struct{})
	return nil, nil
}

// embedAll creates missing vectors of passages for the configured model.
func (s *Service) embedAll(ctx context.Context) error {
	e := s.cfg.Embedder()
	if e == nil {
		return nil
	}
	var failed error // failures of some collections; others shouldn't wait for them
	err := s.cfg.DB.AllCollections(ctx, func(id string) error {
		if err := s.embed(ctx, e, id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("collection %s: %w", id, err))
		}
		return ctx.Err()
	})
	return errors.Join(err, failed)
}

// refused reports whether a model refused its input.
func refused(err error) bool {
	var e *llmerr.Error
	return errors.As(err, &e) && slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, e.Status)
}

// embedTexts returns embeddings of texts, without those of refused texts.
func embedTexts(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	made, err := e.Embed(ctx, texts)
	switch {
	case err == nil && len(made) != len(texts):
		return nil, fmt.Errorf("embed passages: %d vectors came back for %d texts", len(made), len(texts))
	case err == nil:
		return made, nil
	case !refused(err):
		return nil, fmt.Errorf("embed passages: %w", err)
	case len(texts) == 1:
		if _, all := e.Embed(ctx, []string{"a"}); all != nil { // the model rejects everything: the passage isn't at fault
			return nil, fmt.Errorf("embed passages: %w", err)
		}
		return [][]float32{nil}, nil
	}
	half := len(texts) / 2
	made, err = embedTexts(ctx, e, texts[:half])
	if err != nil {
		return nil, err
	}
	rest, err := embedTexts(ctx, e, texts[half:])
	return append(made, rest...), err
}

func (s *Service) embed(ctx context.Context, e Embedder, collection string) error {
	ids, err := s.cfg.DB.Unembedded(ctx, collection, e.Model())
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, embedTogether) {
		read, err := s.cfg.DB.PassagesByID(ctx, store.CollectionShelf(collection), some)
		if err != nil {
			return err
		}
		var texts []string
		var list []store.Vector
		for _, id := range some {
			if p, ok := read[id]; ok {
				texts = append(texts, cut(p.Heading+"\n"+p.Text, embedText))
				list = append(list, store.Vector{Passage: id})
			}
		}
		if len(texts) == 0 {
			continue
		}
		made, err := embedTexts(ctx, e, texts)
		if err != nil {
			return err
		}
		for i := range list {
			list[i].Values = packed(small(made[i]))
		}
		if err := s.cfg.DB.PutVectors(ctx, collection, e.Model(), list); err != nil {
			return err
		}
	}
	return nil
}
