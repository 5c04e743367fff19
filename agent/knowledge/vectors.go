package knowledge

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"fawn/store"
)

// What vectors take, and how they are asked for.
const (
	cacheBytes    = 256 << 20 // of vectors in memory
	embedTogether = 64        // passages in one request
	embedText     = 2000      // bytes of a passage that are embedded
)

// vectors are those of collections that were searched lately, as many as cacheBytes holds.
type vectors struct {
	mu   sync.Mutex
	list []*shelfVectors // the one used last at the end
	size int64
}

// shelfVectors are those of one collection.
type shelfVectors struct {
	collection, model string
	version           int64
	ids               []int64
	dims              int
	values            []int8    // dims of each
	lengths           []float32 // of each
}

func (v *shelfVectors) bytes() int64 { return int64(len(v.values) + 12*len(v.ids)) }

// add takes a vector, unless it has another length than those before it.
func (v *shelfVectors) add(x store.Vector) {
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

// nearest are the passages whose vectors have the least angle to q, the best first.
func (v *shelfVectors) nearest(q []int8, in, limit int) []ranked {
	if len(q) != v.dims {
		return nil
	}
	length := float32(0)
	for _, n := range q {
		length += float32(n) * float32(n)
	}
	length = float32(math.Sqrt(float64(length)))
	best := make([]ranked, 0, limit+1)
	for i, id := range v.ids {
		far := -float64(dot(q, v.values[i*v.dims:(i+1)*v.dims])) / float64(max(length*v.lengths[i], 1))
		if len(best) == limit && far >= best[limit-1].rank {
			continue
		}
		n, _ := slices.BinarySearchFunc(best, far, func(r ranked, far float64) int {
			if r.rank <= far {
				return -1
			}
			return 1
		})
		best = slices.Insert(best, n, ranked{in: in, id: id, rank: far})
		if len(best) > limit {
			best = best[:limit]
		}
	}
	return best
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

// small is a vector in numbers from -127 to 127; what is no number is 0.
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

// near finds passages by meaning; none where no embedding model is configured.
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
		some = some || len(v.ids) > 0
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
		found = append(found, v.nearest(q, i, candidates)...)
	}
	return found, nil
}

// vectorsOf are the vectors of a collection, from memory while they are as they are stored.
func (s *Service) vectorsOf(ctx context.Context, collection, model string) (*shelfVectors, error) {
	version, err := s.cfg.DB.VectorVersion(ctx, collection)
	if err != nil {
		return nil, err
	}
	c := &s.vectors
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, v := range c.list {
		if v.collection != collection || v.model != model {
			continue
		}
		c.list = slices.Delete(c.list, i, i+1)
		if v.version == version {
			c.list = append(c.list, v)
			return v, nil
		}
		c.size -= v.bytes()
		break
	}
	v := &shelfVectors{collection: collection, model: model, version: version}
	if err := s.cfg.DB.Vectors(ctx, collection, model, v.add); err != nil {
		return nil, err
	}
	if v.bytes() > cacheBytes {
		return v, nil
	}
	c.list, c.size = append(c.list, v), c.size+v.bytes()
	for c.size > cacheBytes {
		c.size -= c.list[0].bytes()
		c.list = slices.Delete(c.list, 0, 1)
	}
	return v, nil
}

// embedAll makes vectors of passages that have none of the configured model.
func (s *Service) embedAll(ctx context.Context) error {
	e := s.cfg.Embedder()
	if e == nil {
		return nil
	}
	return s.cfg.DB.AllCollections(ctx, func(id string) error { return s.embed(ctx, e, id) })
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
		made, err := e.Embed(ctx, texts)
		if err != nil {
			return fmt.Errorf("embed passages: %w", err)
		}
		if len(made) != len(list) {
			return fmt.Errorf("embed passages: %d vectors came back for %d texts", len(made), len(list))
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
