package load

import (
	"math"
	"slices"
)

// quantile returns the q-th part of a list (0.5 = median), 0 for an empty one.
func quantile[T int64 | float64](list []T, q float64) T {
	if len(list) == 0 {
		return 0
	}
	s := slices.Clone(list)
	slices.Sort(s)
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// order returns the slope of log y over log x by least squares: 1 means that y grows linearly with x, 2 quadratically.
// Non-positive points are left out; fewer than two return NaN.
func order(x, y []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		if x[i] <= 0 || y[i] <= 0 {
			continue
		}
		lx, ly := math.Log(x[i]), math.Log(y[i])
		n, sx, sy, sxx, sxy = n+1, sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	d := n*sxx - sx*sx
	if n < 2 || d == 0 {
		return math.NaN()
	}
	return (n*sxy - sx*sy) / d
}
